"""Sources of episodes that a stream can draw from: rollouts, the oracle, the policy, a model to distil from.

The learner builds one `Supply` a step (and one before the first, without rollouts, for sources that prepare themselves)
and hands it to the source of every stream.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .....errors import InputError
from ...batch.batch import Batch
from ...batch.trajectory import Group, Trajectory

Play = Callable[[Sequence[Any]], list[Group]]
"""Tasks (`RolloutTask`) -> one group a task, in order."""


@dataclass(frozen=True, eq=False)
class Supply:
    """One step's supply.

    Attributes:
        step: optimiser batch under way, from 1; 0 before the first.
        steps: how many there will be.
        rng: a generator for this stream and step alone.
        param_space: the environment's `ParamSpace`.
        task: ``(params, seed, samples)`` -> a task that can be played.
        tasks: the curriculum's tasks of this step.
        groups: the shaped groups of these tasks, before any filter, in the order of ``tasks``.
        play: samples tasks with the present policy; its groups are shaped as the recipe shapes its own.
        demonstrate: plays each task once by the environment's oracle.
        measure: log-probability of every action token of a batch under the present policy, [N] -> [N].
        play_teacher: samples tasks with the model to distil from; None where the run has none.
    """

    step: int
    steps: int
    rng: np.random.Generator
    param_space: Any
    task: Callable[[Mapping[str, Any], int, int], Any]
    tasks: tuple[Any, ...]
    groups: tuple[Group, ...]
    play: Play
    demonstrate: Callable[[Sequence[Any]], list[Trajectory]]
    measure: Callable[[Batch], Any]
    play_teacher: Play | None = None

    def new_tasks(self, count: int, samples: int = 1) -> list[Any]:
        """Tasks drawn uniformly from the parameter space."""
        return [
            self.task(self.param_space.sample(self.rng), int(self.rng.integers(2**31)), samples) for _ in range(count)
        ]


class StreamSource:
    """Base of the sources; one that remembers something also overrides the two state methods."""

    def draw(self, supply: Supply) -> list[Group]:
        """Return the groups that the stream is trained on in this step; [] trains nothing."""
        raise NotImplementedError

    def prepare(self, supply: Supply) -> None:
        """Called once, before the first step of a run that was not resumed."""

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        return


def require_teacher(supply: Supply) -> Play:
    """The function that samples with the model to distil from.

    Raises:
        InputError: the run has none.
    """
    if supply.play_teacher is None:
        raise InputError("this stream samples from a model to distil from, and the run names none; pass teacher_model.")
    return supply.play_teacher
