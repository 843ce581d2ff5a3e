"""Noise that a verifier might have: rewards flipped at random, by group or one by one, to see what survives it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...checks import check_choice, check_count, check_number
from ...errors import InputError
from ..algebra.composite import Composite
from ..episode import Episode
from ..reward import Reward, register
from ..verdict import Verdict
from .verifiable import Verifiable


def expected_advantage(advantage: float, flip_prob: float) -> float:
    """(1 - 2 f) * advantage: what is left on average when whole groups are flipped with probability f.

    A flipped group has exactly the negated group-normalised advantages. Flips of single samples change the group's
    mean and deviation as well, and have no such form.
    """
    return (1.0 - 2.0 * flip_prob) * advantage


@register("outcome-noise")
class OutcomeNoise(Composite):
    """Another reward, reflected between its bounds (0 becomes 1 and 1 becomes 0) with a probability.

    Only the reward is noisy; ``Verdict.success`` stays true to the environment.

    Args:
        child: the reward to disturb, with finite bounds; None is 1 for a success and 0 for a failure.
        flip_prob: probability of a flip, in [0, 1].
        unit: "group": one toss for all siblings, as in the released code; "sample": one for each episode.
        seed: of the tosses; a resumed run continues them.

    Raises:
        InputError: a child without bounds, or an argument out of its range.
    """

    paper = "The Climb Carves Wisdom Deeper Than the Summit, arXiv 2505.22653 (noisy rewards)"
    complete = True

    def __init__(self, child: Reward | None = None, flip_prob: float = 0.4, unit: str = "group", seed: int = 0):
        super().__init__({"child": Verifiable(scale=1.0) if child is None else child})
        low, high = self.children["child"].bounds
        if not np.isfinite(high - low):
            raise InputError(
                f"outcome-noise reflects a reward between its bounds, but {self.children['child'].name!r} has "
                f"{(low, high)}; clip it first."
            )
        self.flip_prob = check_number("flip_prob", flip_prob, low=0.0, high=1.0)
        self.unit = check_choice("unit", unit, ("group", "sample"))
        self.seed = check_count("seed", seed)
        self.tosses = 0

    @property
    def bounds(self) -> tuple[float, float]:
        return self.children["child"].bounds

    def _toss(self) -> bool:
        # A generator for each toss, so that the state is one number.
        flip = bool(np.random.default_rng([self.seed, self.tosses]).random() < self.flip_prob)
        self.tosses += 1
        return flip

    def combine_batch(
        self, groups: Sequence[Sequence[Episode]], verdicts: Sequence[Sequence[Mapping[str, Verdict]]]
    ) -> list[list[Mapping[str, float]]]:
        low, high = self.bounds
        result: list[list[Mapping[str, float]]] = []
        for judged in verdicts:
            together = self._toss() if self.unit == "group" and judged else False
            terms: list[Mapping[str, float]] = []
            for parts in judged:
                flip = together if self.unit == "group" else self._toss()
                reward = parts["child"].reward
                terms.append({self.name: low + high - reward if flip else reward})
            result.append(terms)
        return result

    def describe(self) -> str:
        return f"{self.name} {self.flip_prob:g} per {self.unit}"

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "tosses": self.tosses}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict({name: value for name, value in state.items() if name != "tosses"})
        self.tosses = int(state.get("tosses", 0))
