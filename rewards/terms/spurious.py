"""The negative control: a reward that is a coin toss, and what theory says it must do to GRPO."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...checks import check_count, check_number
from ..episode import Episode
from ..reward import GroupReward, register


def mislabelled_mean(correct: int, group: int) -> float:
    """Expected loss n_c (G - n_c) / G of the summed advantages of ``correct`` rollouts of ``group`` under coin tosses.

    The loss is what those rollouts' mean-centred advantages add up to under true labels, minus under tossed ones.
    """
    return correct * (group - correct) / group


def mislabelled_variance(correct: int, group: int) -> float:
    """Variance n_c (G - n_c) / (4 G) of that loss."""
    return correct * (group - correct) / (4.0 * group)


def advantage_bound(group: int) -> float:
    """(G - 1) / sqrt(G), the largest advantage after GRPO's normalisation with the unbiased deviation: one success."""
    return (group - 1) / math.sqrt(group)


@register("spurious")
class Spurious(GroupReward):
    """1 or 0 by the toss of a coin, blind to the episode: any improvement it brings is the optimiser's own doing.

    Args:
        p: probability of 1, in [0, 1].
        seed: of the tosses; a resumed run continues them.

    Raises:
        InputError: an argument out of its range.
    """

    paper = "On clipping, entropy and spurious rewards, arXiv 2512.16912"
    complete = True

    def __init__(self, p: float = 0.5, seed: int = 0):
        self.p = check_number("p", p, low=0.0, high=1.0)
        self.seed = check_count("seed", seed)
        self.groups = 0

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    def values(self, episodes: Sequence[Episode]) -> list[float]:
        rng = np.random.default_rng([self.seed, self.groups])
        self.groups += 1
        return (rng.random(len(episodes)) < self.p).astype(float).tolist()

    def state_dict(self) -> dict[str, Any]:
        return {"groups": self.groups}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict({name: value for name, value in state.items() if name != "groups"})
        self.groups = int(state.get("groups", 0))
