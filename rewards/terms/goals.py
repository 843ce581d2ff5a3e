"""Rewards for being near a goal that is described in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...checks import check_share
from ...errors import InputError
from ..embedding import Embedder, HashedNgrams, embed, goal_projection
from ..reward import register
from .progress import PotentialShaping

COLUMNS = 4096
"""Number of columns of the default embedder; it is fixed, so that vectors are comparable from call to call."""


class GoalText:
    """Maps a text to its `goal_projection`.

    Args:
        goal: describes the goal.
        baseline: describes any other state; what goal and baseline have in common counts less.
        alpha: in [0, 1]; 0 ignores the baseline.
        embedder: maps texts to vectors that are comparable from call to call.

    Raises:
        InputError: a text that is blank, or an ``alpha`` out of range; when called, an embedder that failed.
    """

    def __init__(self, goal: str, baseline: str, alpha: float, embedder: Embedder):
        for name, text in (("goal", goal), ("baseline", baseline)):
            if not isinstance(text, str) or not text.strip():
                raise InputError(f"{name} must be text that is not blank, not {text!r}.")
        self.alpha, self.embedder = check_share("alpha", alpha), embedder
        self.goal, self.baseline = self._embed([goal, baseline])

    def __call__(self, text: Any) -> float:
        return goal_projection(self._embed([str(text)])[0], self.goal, self.baseline, self.alpha)

    def _embed(self, texts: list[str]) -> np.ndarray:
        rows = embed(self.embedder, texts)
        if rows is None:
            raise InputError(f"the embedder gave numbers that are not finite for {texts[0][:80]!r}; take another one.")
        return rows


@register("goal-text")
class GoalTextShaping(PotentialShaping):
    """Potential-based shaping by the likeness of each observation to a goal in words, along the direction from a
    baseline to the goal. The paper adds the likeness itself, which can change the optimal policies; shaping cannot.

    Args:
        goal: description of the goal, in the style of the observations: "You carry the key".
        baseline: describes an ordinary state in the same way: "You carry nothing".
        alpha: weight of the direction from baseline to goal, in [0, 1]; 0 gives the cosine with the goal.
        weight: of the potential.
        discount, cutoff: of the reward "potential".
        embedder: maps texts to vectors, comparable from call to call. The default, hashed n-grams, needs no model and
            compares words and pairs of words only; the paper takes CLIP.

    Raises:
        InputError: an argument out of range, or a text that is blank.
    """

    paper = "VLM-RM, arXiv 2310.12921 (the potential is ours)"
    needs = frozenset()

    def __init__(
        self,
        goal: str,
        baseline: str,
        alpha: float = 0.5,
        weight: float = 1.0,
        discount: float = 1.0,
        cutoff: str = "zero",
        embedder: Embedder = HashedNgrams(columns=COLUMNS),  # noqa: B008 frozen
    ):
        likeness = GoalText(goal, baseline, alpha, embedder)
        super().__init__(lambda observation: weight * likeness(observation), discount, cutoff)
