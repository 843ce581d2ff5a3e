"""Database of programs on islands, from which parents are drawn (ThetaEvolve, arXiv 2511.23473)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ....envs.code.open_problem import identity


class StoredProgram(NamedTuple):
    """A program, its objective (the share of the best known value, in [0, 1]), and the index of its island."""

    text: str
    objective: float
    island: int


class ProgramDatabase:
    """Programs of one problem, on islands between which the best ones migrate in a ring.

    A parent is drawn from one island: any of its programs with probability ``explore``, one of the archive's with
    ``exploit``, otherwise the island's best one. The archive holds the best programs of all islands.

    Args:
        islands: number of islands.
        capacity: most programs; beyond it the worst is dropped.
        archive: size of the archive.
        explore, exploit: probabilities, at most 1 in sum.
        interval: additions between migrations.
        migrants: share of an island's programs that is copied to the next island.
    """

    def __init__(
        self,
        islands: int = 10,
        capacity: int = 10_000,
        archive: int = 1_000,
        explore: float = 0.2,
        exploit: float = 0.7,
        interval: int = 50,
        migrants: float = 0.1,
    ):
        self.islands, self.capacity, self.archive, self.interval = islands, capacity, archive, interval
        self.explore, self.exploit, self.migrants = explore, exploit, migrants
        self.programs: list[StoredProgram] = []
        self.known: set[str] = set()
        self.added = 0

    @property
    def best(self) -> float:
        """Best objective; 0 without programs."""
        return max((program.objective for program in self.programs), default=0.0)

    def add(self, text: str, objective: float, island: int) -> bool:
        """Add a program. Return False, without adding it, if it is known."""
        if (key := identity(text)) in self.known:
            return False
        self.known.add(key)
        self.programs.append(StoredProgram(text, objective, island % self.islands))
        self.added += 1
        if self.added % self.interval == 0:
            self._migrate()
        if len(self.programs) > self.capacity:
            self.programs.remove(min(self.programs, key=lambda program: program.objective))
        return True

    def draw(self, rng: np.random.Generator) -> StoredProgram | None:
        """Draw a parent; None if there are no programs. An island without programs takes one of any island."""
        if not self.programs:
            return None
        island, chance = int(rng.integers(self.islands)), float(rng.random())
        own = [program for program in self.programs if program.island == island] or self.programs
        if self.explore <= chance < self.explore + self.exploit:
            best = sorted(self.programs, key=lambda program: -program.objective)[: self.archive]
            own = [program for program in best if program.island == island] or best
        elif chance >= self.explore:
            own = [max(own, key=lambda program: program.objective)]
        return own[int(rng.integers(len(own)))]._replace(island=island)

    def _migrate(self) -> None:
        for island in range(self.islands):
            own = sorted((p for p in self.programs if p.island == island), key=lambda program: -program.objective)
            moving = own[: max(1, round(self.migrants * len(own)))] if own else []
            there = (island + 1) % self.islands
            texts = {program.text for program in self.programs if program.island == there}
            self.programs += [program._replace(island=there) for program in moving if program.text not in texts]

    def state_dict(self) -> dict[str, Any]:
        return {"programs": [list(p) for p in self.programs], "known": sorted(self.known), "added": self.added}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.programs = [StoredProgram(*row) for row in state["programs"]]
        self.known, self.added = set(state["known"]), int(state["added"])
