"""Memory of single steps for learners that train on old ones: a ring of encoded observations, actions and rewards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


class StepMemory:
    """Ring of the latest steps, each with the encoded observations before and after it.

    Args:
        capacity: most steps that are kept; a new one replaces the oldest.

    Attributes:
        columns: name of an array -> array [capacity, ...]. "seen/NAME" and "next/NAME" are arrays of an encoded
            observation; the others are those given to `add`.
        added: number of steps added so far.
    """

    def __init__(self, capacity: int):
        self.capacity = capacity
        self.columns: dict[str, np.ndarray] = {}
        self.added = 0

    def __len__(self) -> int:
        return min(self.added, self.capacity)

    def add(self, rows: Mapping[str, np.ndarray]) -> None:
        """Add n steps, arrays [n, ...] by name; the first call determines names and types."""
        count = len(next(iter(rows.values())))
        if not self.columns:
            self.columns = {name: np.zeros((self.capacity, *one.shape[1:]), one.dtype) for name, one in rows.items()}
        places = np.arange(self.added, self.added + count) % self.capacity
        for name, column in self.columns.items():
            column[places] = rows[name]
        self.added += count

    def draw(self, count: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return ``count`` steps drawn with replacement, arrays [count, ...] by name."""
        places = rng.integers(len(self), size=count)
        return {name: column[places] for name, column in self.columns.items()}

    def state(self, prefix: str) -> dict[str, np.ndarray]:
        """Return the kept steps as arrays, and their number as the array PREFIXadded; see `load_state`."""
        kept = {f"{prefix}{name}": column[: len(self)] for name, column in self.columns.items()}
        return kept | {f"{prefix}added": np.array(self.added)}

    def load_state(self, prefix: str, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned, from a mapping that may hold other arrays too."""
        count, self.columns, self.added = int(state[f"{prefix}added"]), {}, 0
        if count:
            names = [name for name in state if name.startswith(prefix) and name != f"{prefix}added"]
            self.add({name.removeprefix(prefix): state[name] for name in names})
            self.added = count
