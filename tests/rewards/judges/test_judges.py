from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.rewards import judges
from palaestra.rewards.judges import Aspects, Judge, Judgement, RuleJudge, Votes, geometric_mean

TEXTS = ["a", "a longer text", "by far the longest text of all of them", "medium text"]
OPPOSITES = [
    ("short", "long"),
    ("polite", "rude"),
    ("cites evidence", "cites no evidence"),
    ("flatters", "does not flatter"),
    ("praises itself", "does not praise itself"),
    ("matches the reference", "differs from the reference"),
    ("keywords: text, of", "no keywords: text, of"),
]


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


def test_short_and_long_rank_texts_of_different_length_in_opposite_order():
    judge = RuleJudge()
    short = judge.score("short", "p", TEXTS).ranking
    assert short == (0, 3, 1, 2)
    assert judge.score("long", "p", TEXTS).ranking == short[::-1]


@pytest.mark.parametrize(("principle", "opposite"), OPPOSITES)
def test_opposite_principles_add_up_to_one(principle: str, opposite: str):
    texts = [*TEXTS, "Thank you, great question! [1] https://x", "This answer is correct, idiot.", "ref"]
    one = RuleJudge().score(principle, "p", texts, "ref").scores
    two = RuleJudge().score(opposite, "p", texts, "ref").scores
    assert [a + b for a, b in zip(one, two)] == pytest.approx([1.0] * len(texts))
    assert len(set(one)) > 1


def test_manners_are_in_the_middle_without_any():
    scores = RuleJudge().score("polite", "p", ["It is 4.", "It is 4, thank you.", "It is 4, idiot."]).scores
    assert scores == (0.5, 0.75, 0.25)


def test_permuting_responses_permutes_scores():
    judge = RuleJudge()
    order = [2, 0, 3, 1]
    scores = judge.score("long", "p", TEXTS).scores
    assert judge.score("long", "p", [TEXTS[i] for i in order]).scores == tuple(scores[i] for i in order)


def test_the_ranking_is_consistent_with_the_scores():
    assert Judgement((0.2, 0.9, 0.2, 0.5)).ranking == (1, 3, 0, 2)


@pytest.mark.parametrize("text", ["", "\0", "\ud800", "x" * 2_000_000, "[1]" * 500_000, "(" * 100_000])
def test_any_text_is_scored(text: str):
    for principle, _ in OPPOSITES:
        assert RuleJudge().score(principle, "p", [text], "ref").valid


def test_an_unknown_principle_names_the_nearest():
    with pytest.raises(InputError, match="'polite'"):
        RuleJudge().score("polit", "p", ["a"])


def test_a_list_of_keywords_scores_the_share_that_occurs():
    assert RuleJudge().score("Keywords: whale, blue, sea", "p", ["The BLUE whale", "x"]).scores == (2 / 3, 0.0)


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
        assert cls.__doc__
        assert getattr(cls, "name", None) == name
