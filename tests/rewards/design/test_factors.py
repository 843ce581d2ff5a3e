"""Factor programs: their verification, and the functions of our own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from palaestra.errors import InputError, MachineryError
from palaestra.rewards import Episode, Step
from palaestra.rewards.design import FACTOR_FUNCTIONS, FACTOR_RUNNERS, compute_factors, verify_factors
from palaestra.rewards.design.factors import load_factor_program


def episode(*actions: str) -> Episode:
    steps = tuple(Step(f"seen {number}", action, 0.0, {}, 1) for number, action in enumerate(actions))
    return Episode("t", {}, steps, False, 0.0, True, False, None)


def program(body: str) -> str:
    return f"def factors(step):\n    {body}\n"


def test_a_program_is_accepted_with_the_names_of_its_factors():
    text = program("return {'a': len(step['action'])}")
    reply = f"Length matters.\n```python\n{text}```\nThat is all."
    assert verify_factors(reply, [episode("left", "on")]).names == ("a",)
    critique = verify_factors(program("return {'b': 1.0, 'a': len(step['action'])}"), [episode("left", "on")])
    assert critique.text == ""
    assert critique.names == ("a", "b")


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("return 1", "factors must return a dict of named numbers, not 1"),
        ("return {}", "factors must return a dict of named numbers, not {}"),
        (
            "return {'a': 1 / (step['action'] == 'left')}",
            "failed on 1 of 2 recorded steps; the first: ZeroDivisionErr",
        ),
        ("return {'a': 'much'}", "a factor must be a number by name, not 'a': 'much'"),
        ("return {'a': float('nan')}", "a factor must be a finite number"),
        ("return {str(i): i for i in range(99)}", "at most 32 numbers, not 99"),
        ("return {step['action']: 1.0}", "the factors are ['on'], but those of another step are ['left']"),
        ("return {'a': 1.0}", "the same for all 2 recorded steps"),
        ("return {'a': step['colour']}", "KeyError (line 2)"),
        ("import os", "the import of 'os' is refused"),
        ("return )", "is no Python"),
    ],
)
def test_a_program_that_raises_or_returns_another_form_is_rejected_with_the_error(body, error):
    critique = verify_factors(program(body), [episode("left", "on")])
    assert critique.program is None
    assert error in critique.text


def test_a_loop_without_end_is_ended():
    found = compute_factors(program("while step: pass"), [("o", "a")])
    assert found is not None
    assert "TimeoutError" in found[0].error


def test_a_failed_sandbox_says_nothing_about_the_program(monkeypatch):
    def lose(text, steps):
        raise MachineryError("the sandbox is gone.")

    for run in (lambda text, steps: None, lose):
        monkeypatch.setitem(FACTOR_RUNNERS._entries, "sandbox", run)
        assert compute_factors(program("return {'a': 1.0}"), [("o", "a")]) is None
    with pytest.raises(RuntimeError, match="the sandbox failed"):
        verify_factors(program("return {'a': 1.0}"), [episode("left")])


def test_files_that_hold_no_program_are_refused(tmp_path: Path):
    with pytest.raises(InputError, match="cannot be read"):
        load_factor_program(tmp_path / "none.py")
    (tmp_path / "other.py").write_text("x = 1")
    with pytest.raises(InputError, match="holds no factor program: the program defines no function factors"):
        load_factor_program(tmp_path / "other.py")


def view(ahead: tuple[int, int, int], carried: int = 1) -> dict[str, np.ndarray]:
    image = np.ones((7, 7, 3), dtype=np.uint8)
    image[3, 5], image[3, 6] = ahead, (carried, 0, 0)
    return {"image": image}


@pytest.mark.parametrize(
    ("seen", "action", "names"),
    [
        (view((5, 4, 0)), 3, {"takes"}),
        (view((5, 4, 0), carried=6), 3, {"carries"}),
        (view((1, 0, 0), carried=5), 4, {"drops", "carries"}),
        (view((4, 4, 2)), 5, set()),
        (view((4, 4, 2), carried=5), 5, {"opens", "carries"}),
        (view((4, 4, 1)), 5, {"opens"}),
        (view((4, 4, 0)), 5, {"shuts"}),
        (view((8, 1, 0)), 2, {"reaches"}),
        (view((2, 5, 0)), 2, {"bumps"}),
        (view((4, 4, 0)), 2, set()),
    ],
)
def test_what_an_action_does_to_the_cell_ahead(seen, action, names):
    assert {name for name, value in FACTOR_FUNCTIONS["given"](seen, action).items() if value} == names


def test_words_of_actions_are_counted():
    found = FACTOR_FUNCTIONS["given"]("a map", "go go left")
    assert sorted(found.values(), reverse=True)[:3] == [2.0, 1.0, 1.0]
    assert set(found) == set(FACTOR_FUNCTIONS["words"]("", ""))
