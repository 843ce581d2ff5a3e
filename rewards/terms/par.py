"""Transforms of a reward model's score. A good one is bounded, grows fast at first and slowly later, and is centred on
what a reference policy gets; PAR does all of that.

The functions take and return floats; numbers that a transform compares with come from reference responses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...checks import check_choice, check_count, check_number
from ...errors import InputError
from ..episode import Episode
from ..reward import Reward, register
from .scored import Score, Scorer, scores_in


def sigmoid(x: float) -> float:
    """1 / (1 + exp(-x)), without overflow."""
    return 1.0 / (1.0 + math.exp(-x)) if x >= 0 else math.exp(x) / (1.0 + math.exp(x))


def par(score: float, references: Sequence[float], k: float = 1.0) -> float:
    """Mean over the reference scores of sigmoid(k (score - reference)): how surely the response beats the reference."""
    return sum(sigmoid(k * (score - reference)) for reference in references) / len(references)


def standardised_score(score: float, references: Sequence[float]) -> float:
    """(score - mean) / standard deviation of the references (ddof 0); 0 deviation only centres."""
    # Equal numbers can have a deviation in the last bit, which would divide by nearly nothing.
    spread = float(np.std(references)) if max(references) > min(references) else 0.0
    return (score - float(np.mean(references))) / (spread or 1.0)


def clipped_score(score: float, references: Sequence[float]) -> float:
    """``score`` clipped to one standard deviation around the references' mean."""
    mean, spread = float(np.mean(references)), float(np.std(references))
    return min(max(score, mean - spread), mean + spread)


def min_max_score(score: float, references: Sequence[float]) -> float:
    """The place of ``score`` between the lowest and highest reference, in [0, 1]; 0.5 where they are equal."""
    low, high = min(references), max(references)
    return min(max((score - low) / (high - low), 0.0), 1.0) if high > low else 0.5


def tanh_score(score: float, references: Sequence[float]) -> float:
    """tanh(score - mean of the references), in [-1, 1]."""
    return math.tanh(score - float(np.mean(references)))


def late_sigmoid_score(score: float, references: Sequence[float]) -> float:
    """sigmoid(3 (x - 3)) of the centred score x: bounded, but slow at first, which PAR's authors find worse."""
    return sigmoid(3.0 * (score - float(np.mean(references)) - 3.0))


# Least squares at 201 points of [-5, 5]; the odd powers of an antisymmetric curve.
_GRID = np.linspace(-5.0, 5.0, 201)
_POLYNOMIAL = np.polyfit(_GRID, 1.0 / (1.0 + np.exp(-_GRID)), 5)


def polynomial_score(score: float, references: Sequence[float]) -> float:
    """The polynomial of degree 5 that fits the sigmoid on [-5, 5], at the centred score clipped to that interval."""
    centred = min(max(score - float(np.mean(references)), -5.0), 5.0)
    return float(np.polyval(_POLYNOMIAL, centred))


TRANSFORMS: Mapping[str, tuple[Callable[..., float], tuple[float, float]]] = {
    "par": (par, (0.0, 1.0)),
    "standardise": (standardised_score, (-math.inf, math.inf)),
    "clip": (clipped_score, (-math.inf, math.inf)),
    "min-max": (min_max_score, (0.0, 1.0)),
    "tanh": (tanh_score, (-1.0, 1.0)),
    "late-sigmoid": (late_sigmoid_score, (0.0, 1.0)),
    "polynomial": (polynomial_score, (-0.1, 1.1)),
}


@register("par")
class PAR(Reward):
    """A reward model's score, made bounded and centred on the scores of reference responses to the same prompt.

    A model's opinion decides, so nothing is promised of success; `shaped-rm` is for tasks that can be verified.

    Args:
        transform: "par", or one of the alternatives that its authors compare: "standardise", "clip", "min-max",
            "tanh", "late-sigmoid" and "polynomial".
        k: slope of "par" before the sigmoid, above 0.
        scorer: the reward model; None reads the extra named by ``key``.
        key: name of that extra.
        references: reference scores for all prompts; None reads the extra "reference_scores", at least one number.
        most: so many reference scores are used at most.

    Raises:
        InputError: an unknown transform, or arguments out of range.
    """

    paper = "Reward Shaping to Mitigate Reward Hacking in RLHF (PAR), arXiv 2502.18770"
    needs = frozenset({"reference_scores", "reward_model_score"})

    def __init__(
        self,
        transform: str = "par",
        k: float = 1.0,
        scorer: Scorer | None = None,
        key: str = "reward_model_score",
        references: Sequence[float] | None = None,
        most: int = 10,
    ):
        self.transform = check_choice("transform", transform, TRANSFORMS)
        self.k = check_number("k", k, low=1e-9)
        self.score = Score(scorer, key)
        self.most = check_count("most", most, low=1, unit="reference scores")
        self.references = None if references is None else _given(references)
        self.needs = self.score.needs | (frozenset() if references is not None else {"reference_scores"})

    @property
    def bounds(self) -> tuple[float, float]:
        return TRANSFORMS[self.transform][1]

    def value(self, episode: Episode) -> float | None:
        score = self.score(episode)
        references = self.references
        if references is None:
            references = _checked(episode.extra("reference_scores"))
        if score is None or references is None:
            return None
        function = TRANSFORMS[self.transform][0]
        options: dict[str, Any] = {"k": self.k} if self.transform == "par" else {}
        return function(score, references[: self.most], **options)


def _checked(references: Any) -> list[float] | None:
    values = scores_in(references, "reference_scores")
    if values is not None and not values:
        raise InputError("reference_scores must hold at least one number, not none.")
    return values


def _given(references: Any) -> list[float]:
    values = _checked(references)
    if values is None:
        raise InputError(f"references must be finite numbers, not {references!r}.")
    return values
