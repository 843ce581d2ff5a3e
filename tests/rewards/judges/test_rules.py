"""The rule-coded judge: principles and their opposites."""

from __future__ import annotations

import pytest
from palaestra.errors import InputError
from palaestra.rewards.judges import RuleJudge

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


@pytest.mark.parametrize("text", ["", "\0", "\ud800", "x" * 2_000_000, "[1]" * 500_000, "(" * 100_000])
def test_any_text_is_scored(text: str):
    for principle, _ in OPPOSITES:
        assert RuleJudge().score(principle, "p", [text], "ref").valid


def test_an_unknown_principle_names_the_nearest():
    with pytest.raises(InputError, match="'polite'"):
        RuleJudge().score("polit", "p", ["a"])


def test_a_list_of_keywords_scores_the_share_that_occurs():
    assert RuleJudge().score("Keywords: whale, blue, sea", "p", ["The BLUE whale", "x"]).scores == (2 / 3, 0.0)
