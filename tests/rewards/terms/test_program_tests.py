from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make

Maker = Callable[..., Episode]


def worth(name: str, episode: Episode, **options: Any) -> float:
    return make(name, **options)(episode).reward


def test_the_share_of_the_tests_that_passed(episode: Maker):
    half = episode(success=False, tests=["", "wrong", "", "error"])
    assert worth("tests-passed", half) == 0.5
    assert worth("tests-passed", half, power=2.0) == 0.25
    assert worth("tests-passed", half, partial=0.4) == pytest.approx(0.2)
    assert worth("tests-passed", half, partial=0.0) == 0.0


def test_a_success_is_worth_1_and_a_failure_that_passed_all_tests_less(episode: Maker):
    for options in ({}, {"partial": 0.0}, {"power": 5.0}):
        assert worth("tests-passed", episode(tests=["", ""]), **options) == 1.0
    # Programs may also have to be fast.
    slow = episode(success=False, tests=["", "", ""])
    nearly = episode(success=False, tests=["", "", "wrong"])
    assert worth("tests-passed", nearly) < worth("tests-passed", slow) < 1.0


@pytest.mark.parametrize(
    ("tests", "expected"),
    [
        ((["", "wrong"]), -0.3),
        ((["wrong", "", "error"]), -0.6),
        ((["", "limit"]), -0.6),
        ((["syntax", "syntax"]), -1.0),
        (([]), -1.0),
        ((None), -1.0),
    ],
)
def test_values_of_coderl_by_the_worst_test(tests: list[str] | None, expected: float, episode: Maker):
    assert worth("error-kind", episode(success=False, tests=tests)) == expected


def test_a_program_that_passes_is_worth_1(episode: Maker):
    assert worth("error-kind", episode(tests=["", ""])) == 1.0


def test_adaptive_feedback_of_rltf_grows_with_the_share(episode: Maker):
    def adaptive(*tests: str) -> float:
        return worth("error-kind", episode(success=False, tests=list(tests)), adaptive=True)

    # -0.3 + 1.3 * passed / all; the programs that fail otherwise keep their value.
    assert adaptive("wrong", "wrong") == pytest.approx(-0.3)
    assert adaptive("", "wrong", "", "") == pytest.approx(-0.3 + 1.3 * 0.75)
    assert adaptive("", "", "", "error") == -0.6
    assert adaptive("syntax") == -1.0


def test_values_must_be_in_order():
    with pytest.raises(InputError, match=r"error must be a finite number of at most -0\.9"):
        make("error-kind", wrong=-0.9)
    with pytest.raises(InputError, match="wrong must be a finite number of at most 1"):
        make("error-kind", wrong=1.0)
    with pytest.raises(InputError, match="penalty must be a finite number of at most -2"):
        make("syntax", bonus=-2.0)


@pytest.mark.parametrize(
    ("tests", "expected"), [(["syntax"], -1.0), (None, -1.0), (["error"], 0.5), (["", "wrong"], 0.5), ([""], 0.5)]
)
def test_code_that_python_can_read(tests: list[str] | None, expected: float, episode: Maker):
    assert worth("syntax", episode(success=False, tests=tests), bonus=0.5) == expected


@pytest.mark.parametrize("tests", [["passed"], "wrong", [None], {"": 1}, [True]])
def test_other_extras_are_refused(tests: Any, episode: Maker):
    for name in ("tests-passed", "error-kind", "syntax"):
        with pytest.raises(InputError, match="the extra 'tests' must be a list of '', 'wrong', 'error'"):
            worth(name, episode(success=False, tests=tests))
