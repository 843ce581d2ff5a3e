"""Rewards for states near a goal that is described in words."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ...checks import Declared, declared, option
from ...errors import InputError
from ..embedding import Embedder, HashedNgrams, embed, goal_projection
from ..reward import register
from .progress import Shaping

COLUMNS = 4096
"""Number of columns of the default embedder; fixed, so that vectors of different calls are comparable."""


def _check_text(name: str, text: Any) -> str:
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"{name} must be text that is not blank, not {text!r}.")
    return text


@declared
class GoalText(Declared):
    """Callable that returns the `goal_projection` of a text.

    Raises:
        InputError: the embedder returned numbers that are not finite, at creation or when called.
    """

    goal: str = option(check=_check_text, says="description of the goal.")
    baseline: str = option(check=_check_text, says="an ordinary state; features shared with the goal count less.")
    alpha: float = option(low=0, high=1, says="weight of the direction from baseline to goal; 0 ignores the baseline.")
    embedder: Embedder = option(says="maps texts to vectors that are comparable from call to call.")

    def setup(self) -> None:
        self._goal, self._baseline = self._embed([self.goal, self.baseline])

    def __call__(self, text: Any) -> float:
        return goal_projection(self._embed([str(text)])[0], self._goal, self._baseline, self.alpha)

    def _embed(self, texts: list[str]) -> np.ndarray:
        rows = embed(self.embedder, texts)
        if rows is None:
            raise InputError(f"the embedder gave numbers that are not finite for {texts[0][:80]!r}; take another one.")
        return rows


@register("goal-text")
class GoalTextShaping(Shaping):
    """Potential-based shaping by the likeness of each observation to a goal in words, along the direction from a
    baseline to the goal. The paper adds the likeness itself, which can change the optimal policies; shaping cannot. The
    default embedder, hashed n-grams, compares words and pairs of words only; the paper takes CLIP."""

    paper = "VLM-RM, arXiv 2310.12921 (the potential is ours)"
    goal: str = option(says='the goal, in the style of the observations: "You carry the key".')
    baseline: str = option(says='an ordinary state, in the same style: "You carry nothing".')
    alpha: float = option(default=0.5, low=0, high=1, says="weight of the direction from baseline to goal.")
    weight: float = option(default=1.0, says="weight of the potential.")
    discount: float = option(default=1.0, low=0, high=1, says="the learner's discount.")
    cutoff: Literal["zero", "keep"] = option(default="zero", says='see the reward "potential".')
    embedder: Embedder = option(default=HashedNgrams(columns=COLUMNS), says="maps texts to comparable vectors.")

    def setup(self) -> None:
        likeness = GoalText(self.goal, self.baseline, self.alpha, self.embedder)
        self.potential = lambda observation: self.weight * likeness(observation)
