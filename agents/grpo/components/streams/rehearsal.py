"""Rehearsal: successes of the starting policy, collected before the first step and trained on in every step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .....checks import check_count
from ...batch.trajectory import Group, group_from_json, group_to_json
from ...recipes.stages import SOURCES
from ..replay.memory import draw_numbers
from .supply import StreamSource, Supply


@SOURCES.register("rehearsal")
class Rehearsal(StreamSource):
    """Solutions of the starting policy to tasks that it always solves, with its log-probabilities (DPH-RL, arXiv
    2509.07430, section 4.1).

    Before the first step, ``tasks`` tasks drawn uniformly are played ``samples`` times each; those solved every time
    are kept. The paper then trains only on the other tasks; here the curriculum may propose any task.

    Args:
        tasks: number of tasks played beforehand.
        samples: number of episodes of each.
        batch: number of kept tasks rehearsed per step.
    """

    def __init__(self, tasks: int = 256, samples: int = 8, batch: int = 16):
        self.tasks = check_count("tasks", tasks, 1)
        self.samples = check_count("samples", samples, 1, "episodes")
        self.batch = check_count("batch", batch, 1, "tasks")
        self._groups: list[Group] = []

    def prepare(self, supply: Supply) -> None:
        self._groups = select_mastered(supply.play(supply.new_tasks(self.tasks, self.samples)))

    def draw(self, supply: Supply) -> list[Group]:
        return [self._groups[i] for i in draw_numbers(len(self._groups), self.batch, supply.rng)]

    def state_dict(self) -> dict[str, Any]:
        return {"mastered": [group_to_json(group) for group in self._groups]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._groups = [group_from_json(group) for group in state["mastered"]]


def select_mastered(groups: Sequence[Group]) -> list[Group]:
    """Return the groups in which every episode is valid and successful."""
    return [group for group in groups if group.trajectories and all(t.valid and t.success for t in group.trajectories)]
