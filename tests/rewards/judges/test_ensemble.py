"""Votes and aspects: judges made of judges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.rewards.judges import Aspects, Judge, Judgement, RuleJudge, Votes, geometric_mean

TEXTS = ["a", "a longer text", "by far the longest text of all of them", "medium text"]


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


def test_sixteen_and_twenty_five_have_the_geometric_mean_twenty():
    assert geometric_mean((16, 25)) == pytest.approx(20)
    assert geometric_mean((0, 25)) == 0
    assert geometric_mean((16, 0)) == 0


def test_weights_of_a_geometric_mean_are_exponents():
    assert geometric_mean((0.25, 1.0), (1, 3)) == pytest.approx(0.25**0.25)
    assert geometric_mean((0.0, 0.5), (0, 1)) == pytest.approx(0.5)


@pytest.mark.parametrize("wrong", [((),), ((1, -1),), ((1, 2), (1,)), ((1, 2), (0, 0))])
def test_a_geometric_mean_of_nothing_is_refused(wrong: Any):
    with pytest.raises(InputError):
        geometric_mean(*wrong)


def test_votes_of_a_deterministic_judge_are_a_single_pass():
    single = RuleJudge().score("long", "p", TEXTS).scores
    assert Votes(RuleJudge(), votes=5).score("long", "p", TEXTS).scores == pytest.approx(single)


def test_the_variance_of_votes_falls_as_one_over_their_number():
    def variance(votes: int) -> float:
        scores = [Votes(Noisy(), votes, seed=1000 * i).score("", "", ["r"]).scores[0] for i in range(800)]
        return float(np.var(scores))

    assert variance(1) / variance(4) == pytest.approx(4, rel=0.25)


def test_votes_of_votes_repeat_no_pass():
    def seeds(judge: Votes) -> list[int]:
        return [vote.seed for vote in judge._judges()]  # type: ignore[attr-defined]

    first = Votes(Noisy(), 3)
    assert len({*seeds(first), *seeds(first.reseeded(0)), *seeds(first.reseeded(1))}) == 9


def test_votes_that_failed_are_left_out_while_half_of_them_answered():
    assert Votes(Mute(), 4).score("", "", ["a", "b"]).scores == (0.25, 0.25)
    assert not Votes(Mute(), 3, seed=1).score("", "", ["a"]).valid


def test_aspects_take_the_geometric_mean_so_that_one_zero_is_a_zero():
    texts = ["see [1]", "thank you", "thank you, see [1]"]
    judge = Aspects(["cites evidence", "keywords: thank"])
    # Evidence once is a half; the keyword is there or not.
    assert judge.score("ignored", "p", texts).scores == pytest.approx((0.0, 0.0, 0.5**0.5))


def test_aspects_with_weights_take_the_arithmetic_mean_where_asked():
    judge = Aspects({"keywords: process": 0.6, "keywords: answer": 0.4}, mean="arithmetic")
    assert judge.score("", "p", ["process", "answer", "process answer"]).scores == pytest.approx((0.6, 0.4, 1.0))


def test_aspects_of_a_silent_judge_are_silent():
    assert not Aspects(["a", "b"], Mute()).score("", "", ["r"]).valid


@pytest.mark.parametrize("wrong", [{}, [], {"a": -1.0}, {"a": 0.0}])
def test_aspects_without_weight_are_refused(wrong: Any):
    with pytest.raises(InputError):
        Aspects(wrong)
