from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make
from palaestra.rewards.terms.repetition import ngram_ranks, repeated_share, repeated_words, repetition_rate

Maker = Callable[..., Episode]


def test_the_rate_counts_ngrams_that_are_not_new():
    assert repetition_rate("a b c d", 2) == 0.0
    assert repetition_rate("a b a b a", 2) == 0.5  # ab ba ab ba
    assert repetition_rate("A b a B", 1) == 0.5


def test_a_text_shorter_than_the_ngram_does_not_repeat():
    assert repetition_rate("a a a", 4) == repetition_rate("", 1) == repeated_share("", 3) == 0.0


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 11])
def test_ranks_tell_exactly_the_different_ngrams_apart(n: int):
    words = [str(i * i % 7 % 3) for i in range(60)]
    grams = [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]
    ranks = ngram_ranks(words, n).tolist()
    assert len(set(zip(grams, ranks))) == len(set(grams)) == len(set(ranks))


def test_only_the_second_occurrence_is_masked():
    assert repeated_words(["a", "b", "c", "a", "b", "d"], 2).tolist() == [False, False, False, True, True, False]


def test_the_term_is_bounded_by_its_weight_and_free_for_fresh_text(episode: Maker):
    reward = make("repetition", n=2, weight=0.5)
    assert reward(episode(text="a b a b a")).reward == -0.25
    assert reward(episode(text="all of these words differ")).reward == 0.0
    assert -0.5 <= reward(episode(text="x " * 50_000)).reward < -0.499


def test_the_dense_form_charges_the_share_of_words(episode: Maker):
    assert make("repetition", n=2, weight=0.6, dense=True)(episode(text="a b c a b d")).reward == pytest.approx(-0.2)


@pytest.mark.parametrize("wrong", [{"n": 0}, {"n": 2.5}, {"weight": -1}])
def test_wrong_arguments_are_refused(wrong: dict[str, Any]):
    with pytest.raises(InputError):
        make("repetition", **wrong)
