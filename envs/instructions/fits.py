"""Parameters of constraints, chosen by what a finished draft shows, so that the draft keeps them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...rewards.verifiers.text_parts import count_phrase, paragraphs_of, sentences_of, words_of
from .draft import TOPICS, Draft, choose

Fit = Callable[[Draft, np.random.Generator], Mapping[str, Any] | None]
"""Returns the parameters of a constraint; None if the draft shows nothing to ask for."""


def bound(count: int, rng: np.random.Generator) -> dict[str, int]:
    """Return bounds around a count: exact, from below or from above."""
    form = int(rng.integers(3)) if count else 2
    return [{"min": count, "max": count}, {"min": count}, {"max": count}][form]


def count_fits(count: Callable[[str], int], least: int = 1) -> Fit:
    """Return the fit of a constraint on a count that is at least ``least``."""

    def fit(draft: Draft, rng: np.random.Generator) -> dict[str, int] | None:
        number = count(draft.text)
        return bound(number, rng) if number >= least else None

    return fit


def range_fits(counts: Callable[[str], list[int]]) -> Fit:
    """Return the fit of a constraint on the counts of all parts of a text."""
    return lambda draft, rng: {"min": min(found), "max": max(found)} if (found := counts(draft.text)) else None


def fixed(**params: Any) -> Fit:
    """Return the fit of a constraint that has always the same parameters."""
    return lambda draft, rng: params


def fact(name: str, **params: Any) -> Fit:
    """Return the fit of a constraint on a text that a change has put into the draft."""
    return lambda draft, rng: {"text": draft.facts[name], **params}


def occurrences_fit(count: Callable[[str, str], int], choices: Callable[[Draft], list[str]]) -> Fit:
    """Return the fit of a constraint on how often one of several texts occurs."""

    def fit(draft: Draft, rng: np.random.Generator) -> dict[str, Any]:
        text = choose(rng, choices(draft))
        return {"text": text, **bound(count(draft.text, text), rng)}

    return fit


def nouns_in(draft: Draft) -> list[str]:
    """List the words of five letters or more of a draft, in their order, or all words if there are none."""
    words = words_of(draft.text.lower())
    return list(dict.fromkeys(word for word in words if len(word) > 4 and word.isalpha())) or words[:3]


def words_fit(least: int, most: int, inside: bool = True) -> Fit:
    """Fit a constraint on several words: those of the draft in their order, or (not ``inside``) of other topics."""

    def fit(draft: Draft, rng: np.random.Generator) -> dict[str, Any] | None:
        words = nouns_in(draft)
        if not inside:
            words = [word for nouns in TOPICS.values() for word in nouns if not count_phrase(draft.text, word)]
        if len(words) < least:
            return None
        count = int(rng.integers(least, min(most, len(words)) + 1))
        return {"texts": [words[n] for n in sorted(rng.permutation(len(words))[:count].tolist())]}

    return fit


def fit_together(draft: Draft, rng: np.random.Generator) -> dict[str, Any] | None:
    """Name the first and the last longer word of a sentence."""
    words = words_of(choose(rng, sentences_of(draft.text) or ["x"]).lower())
    words = [word for word in words if len(word) > 3 and word.isalpha()]
    return {"texts": [words[0], words[-1]]} if len(words) > 1 and words[0] != words[-1] else None


def fit_word(draft: Draft, rng: np.random.Generator) -> dict[str, Any]:
    """Name one of the first words with its place."""
    words = words_of(draft.text)
    place = int(rng.integers(min(8, len(words))))
    return {"text": words[place].lower(), "word": place + 1}


def fit_paragraph(draft: Draft, rng: np.random.Generator) -> dict[str, Any]:
    """Name the first word of a paragraph."""
    paragraphs = paragraphs_of(draft.text)
    place = int(rng.integers(len(paragraphs)))
    return {"text": words_of(paragraphs[place])[0].lower(), "paragraph": place + 1}
