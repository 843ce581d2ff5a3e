"""Go-Explore's archive over levels: return to rarely chosen levels and explore from there (arXiv 1901.10995).

Every task belongs to a cell; the archive keeps the best level of each cell. A proposal draws a cell, more often a
rarely chosen or rarely seen one, and edits its level. The other half of Go-Explore, returning to a state inside an
episode and training backwards from there, is left to environments whose state can be set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...checks import option
from ...errors import InputError
from ..protocol import Draw, Evidence, Teacher
from ..registration import register
from ..sampling import pick
from .space import as_levels


def count_weights(counts: Any, weight: float = 1.0, power: float = 0.5) -> np.ndarray:
    """Return ``weight`` / (count + 1)^``power``, the term of one count in a cell's weight, as in the released code."""
    return weight / (np.asarray(counts, dtype=np.float64) + 1.0) ** power


@register("go-explore")
class GoExplore(Teacher):
    """Edits levels from an archive of cells; rarely chosen and rarely seen cells are drawn more often.

    An outcome stores its level in its cell if the cell is new, the mean return is higher, or the mean return is equal
    at a lower `Outcome.cost`; the cell's counts then restart at 0. A full archive removes the cell of the smallest
    weight.

    Raises:
        InputError: an option out of range, or `Levels` that have no ``mutate``.
    """

    kind = "levels"
    paper = "1901.10995"
    when = (
        "Levels that can be edited and a space too large for uniform search, where variety of levels counts more than "
        "their difficulty."
    )
    space: Any = option(kw_only=False, saved=False, says="ParamSpace, Box, Discrete, a list of tasks, or `Levels`.")
    bins: int = option(
        default=10,
        low=1,
        says="intervals per continuous axis that make a cell; for a finite axis, a list and `Levels`, each key is a"
        " cell.",
    )
    edits: int = option(default=1, low=1, says="number of edits from a cell's level to a proposal.")
    power: float = option(default=0.5, low=0, says="exponent of the counts in a cell's weight.")
    chosen: float = option(
        default=1.0, low=0, saved=False, says="factor on the term of how often a cell was chosen (the released code's)."
    )
    seen: float = option(
        default=0.1,
        low=0,
        saved=False,
        says="factor on the term of how often outcomes fell into the cell (the released code's).",
    )
    capacity: int = option(default=10_000, low=1, says="largest number of cells kept (the paper sets no bound).")

    def setup(self) -> None:
        if self.chosen + self.seen == 0:
            raise InputError("chosen and seen must not both be 0.")
        self.levels = as_levels(self.space)
        if not self.levels.editable:
            raise InputError("go-explore edits levels; give these Levels mutate=.")
        self.settings = {"emphasis": [self.chosen, self.seen]}
        self.begin(self.levels.signature)
        self._cells: dict[str, int] = {}
        self._names: list[str] = []
        self._kept: list[Any] = []
        self._counts_of = np.zeros((self.capacity, 2), dtype=np.int64)  # chosen, seen
        self._best = np.zeros((self.capacity, 2))  # return, cost

    def weights(self) -> np.ndarray:
        """Return float64[cells], the weight of each cell in the draw."""
        return count_weights(self._counts_of[: len(self._kept)], 1.0, self.power) @ np.array([self.chosen, self.seen])

    def _draw(self, k: int) -> list[Draw]:
        if not self._kept:
            return [self._make_draw(self.levels.generate(self._rng), "warmup") for _ in range(k)]
        slots = pick(self.weights(), k, self._rng)
        np.add.at(self._counts_of[:, 0], slots, 1)
        return [
            self._make_draw(self.levels.mutate(self._kept[s], self.edits, self._rng), "edit") for s in slots.tolist()
        ]

    def _make_draw(self, level: Any, origin: str) -> Draw:
        task = self.levels.task(level, self._rng)
        return Draw([level, self.levels.cell(task, self.bins)], task, origin=origin)

    def _record(self, task: Any) -> list[Any]:
        return [self.levels.level(task), self.levels.cell(task, self.bins)]

    def _learn(self, evidence: list[Evidence]) -> None:
        for item in evidence:
            level, cell = item.record
            found = float(item.returns.mean()), item.outcome.cost or 0.0
            slot = self._cells.get(cell)
            if slot is None:
                slot = self._free_slot()
                self._cells[cell], self._names[slot] = slot, cell
            else:
                best, cost = self._best[slot].tolist()
                self._counts_of[slot, 1] += 1
                if (found[0], -found[1]) <= (best, -cost):
                    continue
            self._kept[slot], self._best[slot], self._counts_of[slot] = level, found, 0

    def _free_slot(self) -> int:
        if len(self._kept) < self.capacity:
            self._kept.append(None)
            self._names.append("")
            return len(self._kept) - 1
        slot = int(self.weights().argmin())
        del self._cells[self._names[slot]]
        return slot

    def _metrics(self) -> dict[str, float]:
        n = len(self._kept)
        return {"cells": n, "return_max": float(self._best[:n, 0].max()) if n else 0.0}

    def _save(self) -> dict[str, Any]:
        n = len(self._kept)
        return {
            "cells": list(self._names),
            "kept": list(self._kept),
            "counts": self._counts_of[:n].tolist(),
            "best": self._best[:n].tolist(),
        }

    def _restore(self, own: Mapping[str, Any]) -> None:
        n = len(own["kept"])
        if len(set(own["cells"])) != n or n > self.capacity:
            raise ValueError(f"{len(own['cells'])} cells for {n} levels")
        counts = np.array(own["counts"], dtype=np.int64).reshape(n, 2)
        best = np.array(own["best"], dtype=np.float64).reshape(n, 2)
        self._names = [str(cell) for cell in own["cells"]]
        self._cells = {cell: slot for slot, cell in enumerate(self._names)}
        self._kept = list(own["kept"])
        self._counts_of[:n], self._best[:n] = counts, best
