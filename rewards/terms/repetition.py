"""Repetition of word n-grams, exactly and in O(n log n) whatever the text and however long the n-grams."""

from __future__ import annotations

import numpy as np

from ...checks import check_count, check_number
from ..episode import Episode
from ..reward import Reward, register


def ngram_ranks(words: list[str], n: int) -> np.ndarray:
    """For each position a number that two positions share exactly if the ``n`` words from there are the same.

    Longer n-grams are named by pairs of shorter ones, so that no n-gram is ever held in memory as text.
    """
    if len(words) < n:
        return np.zeros(0, dtype=np.int64)
    ids: dict[str, int] = {}
    ranks = np.array([ids.setdefault(word, len(ids)) for word in words], dtype=np.int64)
    size = 1
    while size < n:
        # Two overlapping halves cover the n-gram when n is not a power of two.
        shift = min(size, n - size)
        pairs = ranks[: len(ranks) - shift] * (int(ranks.max()) + 1) + ranks[shift:]
        ranks = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
        size += shift
    return ranks


def repetition_rate(text: str, n: int) -> float:
    """1 - distinct n-grams / n-grams, of words in lower case; 0 for a text of fewer than ``n`` words."""
    ranks = ngram_ranks(text.lower().split(), n)
    return 1.0 - len(np.unique(ranks)) / len(ranks) if len(ranks) else 0.0


def repeated_share(text: str, n: int) -> float:
    """The share of n-grams that occur more than once, of words in lower case; 0 for fewer than ``n`` words."""
    ranks = ngram_ranks(text.lower().split(), n)
    if not len(ranks):
        return 0.0
    counts = np.bincount(ranks)
    return float((counts[ranks] > 1).mean())


def repeated_words(words: list[str], n: int) -> np.ndarray:
    """A mask over ``words``: True inside any n-gram that has occurred before, where a dense penalty is charged."""
    mask = np.zeros(len(words), dtype=bool)
    ranks = ngram_ranks(words, n)
    if len(ranks):
        again = np.ones(len(ranks), dtype=bool)
        again[np.unique(ranks, return_index=True)[1]] = False
        for offset in range(n):
            mask[offset : offset + len(ranks)] |= again
    return mask


@register("repetition")
class Repetition(Reward):
    """A term in [-weight, 0]: minus the share of the response that repeats itself.

    Args:
        n: length of the n-grams in words. The default is long enough to leave ordinary phrases alone.
        weight: the largest penalty, at least 0.
        dense: charge the share of words inside a repeated n-gram (which a learner with credit per token can place, see
            `repeated_words`) instead of the share of n-grams that are not new.

    Raises:
        InputError: an argument out of its range.
    """

    paper = "Demystifying Long Chain-of-Thought Reasoning in LLMs, arXiv 2502.03373 (n-gram penalty)"

    def __init__(self, n: int = 20, weight: float = 0.5, dense: bool = False):
        self.n = check_count("n", n, low=1, unit="words")
        self.weight = check_number("weight", weight, low=0.0)
        self.dense = dense

    @property
    def bounds(self) -> tuple[float, float]:
        return -self.weight, 0.0

    def value(self, episode: Episode) -> float:
        if not self.dense:
            return -self.weight * repetition_rate(episode.response, self.n)
        mask = repeated_words(episode.response.lower().split(), self.n)
        return -self.weight * (float(mask.mean()) if len(mask) else 0.0)
