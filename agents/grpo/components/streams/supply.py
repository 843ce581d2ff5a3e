"""Inputs of stream sources in one step: rollouts, and functions that play tasks by oracle, policy or teacher model.

The learner builds one `Supply` per step and passes it to the source of every stream. One more, without rollouts, is
built before the first step for `StreamSource.prepare`.
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
"""Tasks (`RolloutTask`) -> one group per task, in order."""


@dataclass(frozen=True, eq=False)
class Supply:
    """Inputs of a stream source in one step.

    Attributes:
        step: optimiser batch under way, from 1; 0 before the first.
        steps: total number of optimiser batches of the run.
        rng: generator for this stream and step only.
        param_space: the environment's `ParamSpace`.
        task: ``(params, seed, samples)`` -> a task that can be played.
        tasks: the curriculum's tasks of this step.
        groups: the groups of these tasks, in the order of ``tasks``, with shaping rewards, before any filter.
        play: plays tasks with the current policy; its groups get the recipe's shaping rewards too.
        demonstrate: plays each task once with the environment's oracle.
        measure: log-probability of every action token of a batch under the current policy: batch -> [N].
        encode: tokenizes plain text, without special tokens.
        context: most tokens of a conversation.
        play_teacher: plays tasks with the model to distil from; None if the run has no such model.
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
    encode: Callable[[str], tuple[int, ...]]
    context: int
    play_teacher: Play | None = None

    def new_tasks(self, count: int, samples: int = 1) -> list[Any]:
        """Draw tasks uniformly from the parameter space."""
        return [
            self.task(self.param_space.sample(self.rng), int(self.rng.integers(2**31)), samples) for _ in range(count)
        ]


class StreamSource:
    """Base class of stream sources; a subclass with memory must override both state methods too."""

    def draw(self, supply: Supply) -> list[Group]:
        """Return the groups that the stream is trained on in this step; [] trains nothing."""
        raise NotImplementedError

    def prepare(self, supply: Supply) -> None:
        """Prepare the source; called once, before the first step of a run that was not resumed."""

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        return


def require_teacher(supply: Supply) -> Play:
    """Return the function that plays tasks with the model to distil from.

    Raises:
        InputError: the run has no such model.
    """
    if supply.play_teacher is None:
        raise InputError("this stream samples from a model to distil from, and the run names none; pass teacher_model.")
    return supply.play_teacher
