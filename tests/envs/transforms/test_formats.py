"""One question in several forms, beyond what the suites over every id and every transform show."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import pytest
from palaestra.errors import InputError
from palaestra.rewards import verify

ALL = ("yes_no", "four_choices", "ten_choices", "cloze", "open")


def make(of: str = "WordProblem", **kwargs: Any) -> Any:
    return gym.make("palaestra/Formats-v0", of=f"palaestra/{of}-v0", disable_env_checker=True, **kwargs).unwrapped


def forms(env: Any, seed: int) -> dict[str, tuple[str, Any]]:
    """The prompt and the task of each form under one seed."""
    made = {}
    for name in env.param_space["format"].choices:
        prompt, _ = env.reset(seed=seed, options={"params": {"format": name}, "difficulty": 0.3})
        made[name] = prompt, env.here()
    return made


@pytest.mark.parametrize(("of", "names"), [("WordProblem", ALL), ("Sudoku", (*ALL[:3], "open"))])
def test_forms_under_one_seed_are_of_one_question_with_one_answer(of: str, names: tuple[str, ...]):
    env = make(of)
    for seed in range(8):
        made = forms(env, seed)
        assert tuple(made) == names
        question = made["open"][1].data.prompt
        assert all(prompt.startswith(question) for prompt, _ in made.values())
        right = env.inner.oracle(made["open"][1].data)
        for name in ("four_choices", "ten_choices"):
            reference = made[name][1].reference
            assert reference["options"]["ABCDEFGHIJ".index(reference["letter"])] == right


def test_a_claim_is_right_as_often_as_wrong_and_is_judged_by_its_word():
    env = make("Arithmetic", format="yes_no")
    words = []
    for seed in range(100):
        prompt, _ = env.reset(seed=seed)
        task = env.here()
        claim = prompt.split("Is this answer right: ")[1].split("\n")[0]
        words.append(task.reference["word"])
        assert env.inner.verify(task.data, claim).success == (words[-1] == "yes")
        assert env.verify(task, words[-1].upper()).success
        assert env.verify(task, "no" if words[-1] == "yes" else "yes").score == 0.0
        assert env.verify(task, "maybe").malformed
    assert 35 <= words.count("yes") <= 65


@pytest.mark.parametrize("of", ["PrimeFactors", "PolynomialRoots"])
def test_several_elements_may_be_right_and_earn_their_share(of: str):
    env = make(of, format="four_choices")
    several = 0
    for seed in range(40):
        env.reset(seed=seed)
        task = env.here()
        letters = task.reference["letter"].split(", ")
        gold = env.inner.read_elements(env.inner.oracle(task.data))
        right = {text in gold for text in (task.reference["options"]["ABCD".index(x)] for x in letters)}
        assert right == {True}
        others = [x for x in "ABCD" if x not in letters]
        assert all(task.reference["options"]["ABCD".index(x)] not in gold for x in others)
        assert env.verify(task, " and ".join(letters)).success
        if len(letters) == 2:
            several += 1
            verdict = env.verify(task, f"{letters[0]}, {others[0]}")
            assert not verdict.success
            assert verdict.score == pytest.approx(1 / 3)
    assert several > 5


def test_an_open_answer_that_is_a_collection_earns_intersection_over_union():
    env = make("PrimeFactors", format="open", factors=3)
    env.reset(seed=0)
    task = env.here()
    first, second, third = env.inner.read_elements(env.oracle(task))
    assert env.verify(task, f"{first} * {second} * {third}").success
    assert env.verify(task, f"{first} * {second}").score == pytest.approx(2 / 3)
    assert env.verify(task, f"{first} * {second} * 9973").score == pytest.approx(2 / 4)
    assert env.verify(task, "none").score == 0.0


def test_letters_earn_the_share_of_both_sets_in_either():
    for answer, score in {"A, B": 1 / 3, "B, C": 1.0, "C, B": 1.0, "B": 0.5, "A": 0.0, "A, B, C": 2 / 3}.items():
        verdict = verify("choice", answer, "B, C", options=["1", "2", "3"], partial=True)
        assert verdict.score == pytest.approx(score)
        assert verdict.success == (score == 1.0)
    assert verify("choice", "A, B", "B, C").score == 0.0
    assert verify("choice", "A", "B", partial=True).score == 0.0


def test_the_axis_is_the_last_and_can_be_restricted_to_the_formats_of_a_paper():
    env = make(axes={"format": ["four_choices", "ten_choices", "cloze", "open"]})
    assert env.param_space.names[-1] == "format"
    assert env.param_space.at(0.0)["format"] == "four_choices"
    with pytest.raises(InputError, match="format must be one of"):
        make("Sudoku", format="cloze")
