"""Base class of the replay strategies: a bounded first-in-first-out memory of groups, saved in checkpoints.

A stored group keeps all data that it was sampled with: the id of its proposal, the behaviour log-probabilities used in
ratios, and the version of the policy that sampled it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .....checks import check_count
from ...batch.trajectory import Group, group_from_json, group_to_json


@dataclass(frozen=True)
class RememberedGroup:
    """Stored group, with the optimiser batch that it was sampled for and the number of times it has been replayed."""

    group: Group
    step: int
    uses: int = 0


class Replay:
    """Base class of the strategies: stores at most ``capacity`` groups and drops the oldest first."""

    def __init__(self, capacity: int):
        self.capacity = check_count("capacity", capacity, 1, "groups")
        self._kept: list[RememberedGroup] = []

    def mix(self, groups: Sequence[Group], step: int, rng: np.random.Generator) -> list[Group]:
        """Return the groups to train on in optimiser batch ``step`` (from 1), and store the fresh ``groups``."""
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self._kept)

    def _remember(self, groups: Sequence[Group], step: int) -> None:
        self._kept += [RememberedGroup(group, step) for group in groups if group.valid]
        del self._kept[: max(0, len(self._kept) - self.capacity)]

    def state_dict(self) -> dict[str, Any]:
        return {"kept": [[group_to_json(kept.group), kept.step, kept.uses] for kept in self._kept]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._kept = [RememberedGroup(group_from_json(group), step, uses) for group, step, uses in state["kept"]]


def draw_numbers(count: int, most: int, rng: np.random.Generator) -> list[int]:
    """Draw ``most`` of the numbers 0..count-1 without replacement (all if ``count`` is smaller), in rising order."""
    if count <= most:
        return list(range(count))
    return sorted(rng.choice(count, most, replace=False).tolist())
