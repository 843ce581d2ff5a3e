"""Interference between tasks: the effect of an update on one task on success on the others (SELF, arXiv 2510.02230).

I(j <- i) is the change of log P(success on task j) by one update on task i alone. If it is negative, practice on i
lowers success on j. The paper therefore trains only on prompts that the greedy answer fails.
`measure_interference` takes any student; ``palaestra audit RUN`` measures a language model in training.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np


class AuditedStudent(Protocol):
    """A student whose updates can be undone."""

    def log_success(self) -> np.ndarray:
        """Return float64[n], log P(success) of each task, in nats."""
        ...

    def train(self, task: int) -> None:
        """Take one update on task number ``task`` alone."""
        ...

    def get_state(self) -> Any:
        """Return a copy of everything that an update changes."""
        ...

    def set_state(self, state: Any) -> None:
        """Restore a state of `get_state`."""
        ...


@dataclass(frozen=True, eq=False)
class Interference:
    """Result of `measure_interference` for n tasks.

    Attributes:
        changes: float64[n, n] in nats; row i holds I(j <- i) for every task j.
        before: float64[n], log P(success) of each task before any update, in nats.
    """

    changes: np.ndarray
    before: np.ndarray

    @property
    def own(self) -> float:
        """Mean change of a task by an update on itself, in nats."""
        return float(self.changes.diagonal().mean())

    @property
    def _others(self) -> np.ndarray:
        return self.changes[~np.eye(len(self.changes), dtype=bool)]

    @property
    def others(self) -> float:
        """Mean change of a task by an update on another one, in nats; 0 for a single task."""
        return float(self._others.mean()) if self._others.size else 0.0

    @property
    def negative(self) -> float:
        """Share of the ordered pairs of different tasks with a negative change, in [0, 1]."""
        return float((self._others < 0).mean()) if self._others.size else 0.0

    @property
    def lost(self) -> float:
        """Mean over pairs of different tasks of max(0, -change), in nats."""
        return float(np.maximum(-self._others, 0.0).mean()) if self._others.size else 0.0


def measure_interference(student: AuditedStudent) -> Interference:
    """Update the student on each task alone, from the same state each time, and measure log P(success) of all tasks.

    The student's initial state is restored.
    """
    before, state = np.array(student.log_success(), dtype=np.float64), student.get_state()
    changes = np.empty((len(before), len(before)))
    for task in range(len(before)):
        student.train(task)
        changes[task] = student.log_success() - before
        student.set_state(state)
    return Interference(changes, before)
