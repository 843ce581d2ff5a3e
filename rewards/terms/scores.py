"""Scores that something else gave a term: a callable, or a named entry of ``Episode.extras``.

A judge that did not answer says None (or NaN), which makes the verdict invalid; a score outside the scale that the term
relies on is clipped to it, so that no judge can break a bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...errors import InputError
from ..episode import Episode

Scorer = Callable[[Episode], float | None]


class Score:
    """A score of an episode.

    Args:
        scorer: called with the episode; None reads ``episode.extras[key]`` instead.
        key: name of the extra, used without a scorer; it then appears in ``needs``.
        low: scores below are raised to this.
        high: scores above are lowered to this.

    Raises:
        InputError: ``scorer`` is not callable; when read, the score is no number.
    """

    def __init__(self, scorer: Scorer | None, key: str, low: float = -math.inf, high: float = math.inf):
        if scorer is not None and not callable(scorer):
            raise InputError(f"a scorer must be a callable that takes an episode, or None, not {scorer!r}.")
        if not isinstance(key, str) or not key:
            raise InputError(f"the name of a score among the extras must be text, not {key!r}.")
        self.scorer, self.key, self.low, self.high = scorer, key, low, high

    @property
    def needs(self) -> frozenset[str]:
        """Names of the extras that are read."""
        return frozenset() if self.scorer is not None else frozenset({self.key})

    def __call__(self, episode: Episode) -> float | None:
        value = episode.extra(self.key) if self.scorer is None else self.scorer(episode)
        return read_score(value, self.key, self.low, self.high)


def read_score(value: Any, name: str, low: float = -math.inf, high: float = math.inf) -> float | None:
    """``value`` clipped to [low, high]; None for None, NaN, or infinity where the scale has no end.

    Raises:
        InputError: it is not a number.
    """
    if value is None:
        return None
    number = None
    if not isinstance(value, (str, bytes)):
        try:
            number = float(value)
        except OverflowError:  # a whole number beyond any float
            number = math.inf if value > 0 else -math.inf
        except (TypeError, ValueError):
            pass
    if number is None:
        raise InputError(f"the score {name!r} must be a number, or None where there is none, not {value!r}.")
    number = min(max(number, low), high) if not math.isnan(number) else number
    return number if math.isfinite(number) else None


def read_scores(values: Any, name: str, low: float = -math.inf, high: float = math.inf) -> list[float] | None:
    """A sequence of scores, each as in `score_in`; None where one of them is missing.

    Raises:
        InputError: it is no sequence of numbers.
    """
    if values is None:
        return None
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise InputError(f"{name!r} must be a sequence of numbers, not {values!r}.")
    scores = [read_score(value, name, low, high) for value in values]
    return None if any(score is None for score in scores) else [score for score in scores if score is not None]
