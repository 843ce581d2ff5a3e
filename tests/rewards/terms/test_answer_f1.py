from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make
from palaestra.rewards.terms.answer_f1 import best_f1, token_f1

Maker = Callable[..., Episode]


def test_one_shared_word_of_two_and_two_is_a_half():
    assert token_f1("a b", "b c") == 0.5


def test_case_and_punctuation_do_not_count_and_articles_need_not():
    assert token_f1("The Cat!", "the cat") == 1.0
    assert token_f1("the cat", "cat") == pytest.approx(2 / 3)
    assert token_f1("the cat", "cat", drop_articles=True) == 1.0


def test_repeating_a_word_does_not_raise_it():
    assert token_f1("b b b b", "b c") == pytest.approx(2 / 6)
    assert token_f1("b b", "b b c") == pytest.approx(4 / 5)  # but what is twice in both is shared twice


def test_the_best_of_several_references_counts(episode: Maker):
    assert best_f1("b", ["x y", "b"]) == 1.0
    assert make("answer-f1")(episode(text="<answer>b</answer>", reference=["b c", "q"])).reward == pytest.approx(2 / 3)


def test_nothing_matches_an_empty_answer():
    assert best_f1(None, "b") == token_f1("", "b") == token_f1("?!", "b") == 0.0


@pytest.mark.parametrize("wrong", [3, [], [3], None])
def test_a_reference_that_is_no_text_is_refused(wrong: Any):
    with pytest.raises(InputError, match="reference"):
        best_f1("b", wrong)
