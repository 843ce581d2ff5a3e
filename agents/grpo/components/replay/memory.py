"""Base of the replay strategies: a bounded memory of groups, oldest first, that is saved in checkpoints.

A remembered group keeps everything it was sampled with: its number in the curriculum, the behaviour log-probabilities
that ratios start from, and the version of the policy that sampled it.
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
    """A remembered group: the optimiser batch it was sampled for, and how often it has been replayed."""

    group: Group
    step: int
    uses: int = 0


class Replay:
    """Base of the strategies: ``capacity`` groups at most, the oldest forgotten first."""

    def __init__(self, capacity: int):
        self.capacity = check_count("capacity", capacity, 1, "groups")
        self._kept: list[RememberedGroup] = []

    def mix(self, groups: Sequence[Group], step: int, rng: np.random.Generator) -> list[Group]:
        """Return the groups that optimiser batch ``step`` (from 1) is trained on, and remember its fresh ``groups``."""
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
