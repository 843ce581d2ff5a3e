"""The interface of judges: judgements, grading by criteria, and judges from data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.rewards import judges
from palaestra.rewards.judges import Judge, Judgement, RuleJudge


class Noisy(Judge):
    """A fixed score with normal noise that depends on the seed."""

    name = "noisy"

    def __init__(self, seed: int = 0):
        self.seed = seed

    def score(self, principle: str, prompt: str, responses: Sequence[str], reference: str | None = None) -> Judgement:
        noise = np.random.default_rng(self.seed).normal(0, 0.1, len(responses))
        return Judgement(tuple(float(value) for value in np.clip(0.5 + noise, 0, 1)))

    def reseeded(self, seed: int) -> Noisy:
        return Noisy(seed)


class Mute(Judge):
    """Answers only where the seed is even."""

    def __init__(self, seed: int = 1):
        self.seed = seed

    def score(self, principle: str, prompt: str, responses: Sequence[str], reference: str | None = None) -> Judgement:
        return Judgement.failed("silence") if self.seed % 2 else Judgement((0.25,) * len(responses))

    def reseeded(self, seed: int) -> Mute:
        return Mute(seed)


def test_the_ranking_is_consistent_with_the_scores():
    assert Judgement((0.2, 0.9, 0.2, 0.5)).ranking == (1, 3, 0, 2)


def test_grading_asks_for_each_criterion():
    judgement = RuleJudge().grade(["does not flatter", "keywords: a, b"], "p", "a great question")
    assert judgement.scores == (0.0, 0.5)
    assert len(judgement.feedback) == 2


def test_grading_is_not_valid_when_one_criterion_has_no_answer():
    assert not Mute().grade(["x"], "p", "r").valid


@pytest.mark.parametrize(
    "wrong",
    [
        {"scores": (1.2,)},
        {"scores": (float("nan"),)},
        {"scores": (0.5,), "feedback": ("a", "b")},
        {"scores": (0.5,), "valid": False},
    ],
)
def test_a_judgement_that_contradicts_itself_is_refused(wrong: dict[str, Any]):
    with pytest.raises(InputError):
        Judgement(**wrong)


@pytest.mark.parametrize("given", [RuleJudge(), "rules", {"judge": "rules"}])
def test_a_judge_may_be_given_as_object_name_or_data(given: Any):
    assert isinstance(judges.as_judge(given), RuleJudge)


def test_a_whole_tree_of_judges_may_be_data():
    aspects = {"judge": "aspects", "aspects": {"short": 1.0}, "mean": "arithmetic"}
    judge = judges.as_judge({"judge": "votes", "of": aspects, "votes": 2})
    assert judge.score("", "p", [""]).scores == (1.0,)


@pytest.mark.parametrize("wrong", ["rulez", {"judge": "rules", "x": 1}, {"rules": 1}, 3, None])
def test_what_is_no_judge_is_refused(wrong: Any):
    with pytest.raises(InputError):
        judges.as_judge(wrong)


def test_every_registered_judge_says_what_it_is():
    assert {"aspects", "endpoint", "rules", "votes"} <= set(judges.JUDGES)
    for name, cls in judges.JUDGES.items():
        assert isinstance(cls, type)
        assert issubclass(cls, judges.Judge)
        assert cls.__doc__
        assert getattr(cls, "name", None) == name
