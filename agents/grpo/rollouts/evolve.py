"""Rollout strategy that lets the policy edit its own earlier programs, kept in a database (ThetaEvolve)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ....checks import check_choice, check_count, check_share
from ....errors import InputError
from ....rewards.answers import fenced
from ..batch.trajectory import Group
from ..recipes.stages import ROLLOUTS
from .environments import Environments, begin, snapshot
from .episode_player import EpisodePlayer
from .episode_starts import Moment, RolloutTask, Start
from .independent import Strategy, group_of, play_by_task
from .program_database import ProgramDatabase


@ROLLOUTS.register("evolve")
@dataclass(eq=False)
class Evolve(Strategy):
    """Show in place of a task's program one of its descendants, and keep every valid program that the policy makes of
    it (ThetaEvolve, arXiv 2511.23473). All samples of a task edit the same parent.

    The first parent of a problem is the task's own program. Episodes with another parent are not reported to the
    teacher.

    Args:
        islands, capacity, archive, explore, exploit, interval, migrants: see `ProgramDatabase`.
        lazy: a program counts as no change, and is not run, if it is the "parent", or any in the "database".
        programs: Python files with programs that the database begins with; those that are invalid are left out.
    """

    islands: int = 10
    capacity: int = 10_000
    archive: int = 1_000
    explore: float = 0.2
    exploit: float = 0.7
    interval: int = 50
    migrants: float = 0.1
    lazy: Literal["parent", "database"] = "database"
    programs: Sequence[str] = ()
    _databases: dict[str, ProgramDatabase] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("islands", "capacity", "archive", "interval"):
            check_count(name, getattr(self, name), 1)
        check_share("explore", self.explore)
        check_share("migrants", self.migrants)
        check_choice("lazy", self.lazy, ("parent", "database"))
        if not 0 <= self.exploit <= 1 - self.explore + 1e-9:
            raise InputError(
                f"exploit must lie between 0 and 1 - explore = {1 - self.explore:g}, not {self.exploit!r}."
            )
        if missing := [name for name in self.programs if not Path(name).is_file()]:
            raise InputError(f"programs names {missing[0]!r}, which is no file; give Python files with construct().")

    def check(self, environments: Environments) -> None:
        env = environments.take()
        environments.give_back(env)
        if not env.has_wrapper_attr("descend"):
            raise InputError(
                f"evolve edits programs of palaestra/OpenProblem-v0, which {type(env.unwrapped).__name__} does not "
                "have; choose another rollout."
            )

    def play(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[Group]:
        prepared = [self._prepare(task, player) for task in tasks]
        by_task = play_by_task(player, [[start] * start.task.samples for start, _, _ in prepared])
        for (_, database, island), played in zip(prepared, by_task, strict=True):
            for trajectory in (each.trajectory for each in played):
                extras = trajectory.turns[-1].extras if trajectory.turns else {}
                if trajectory.valid and isinstance(extras.get("objective"), float):
                    database.add(extras["evolved_program"], extras["objective"], island)
        return [group_of(task, played) for task, played in zip(tasks, by_task, strict=True)]

    def _prepare(self, task: RolloutTask, player: EpisodePlayer) -> tuple[Start, ProgramDatabase, int]:
        """Draw a parent. Return the start with it, its database and its island."""
        env = player.environments.take()
        _, info = begin(env, task.seed, task.params)
        lineage = env.get_wrapper_attr("lineage")()
        if lineage not in self._databases:
            self._databases[lineage] = self._found(env)
        database = self._databases[lineage]
        parent = database.draw(player.rng)
        start, island = Start(task), 0 if parent is None else parent.island
        if parent is not None:
            known = frozenset(database.known) if self.lazy == "database" else frozenset[str]()
            observation = env.get_wrapper_attr("descend")(parent.text, known)
            start = Start(task, Moment(snapshot(env), observation, dict(info)))
        player.environments.give_back(env)
        return start, database, island

    def _make_database(self) -> ProgramDatabase:
        names = ("islands", "capacity", "archive", "explore", "exploit", "interval", "migrants")
        return ProgramDatabase(**{name: getattr(self, name) for name in names})

    def _found(self, env: Any) -> ProgramDatabase:
        """Make the database of the environment's problem, with the valid ones of ``programs``."""
        database, state = self._make_database(), snapshot(env)
        for number, name in enumerate(self.programs):
            text = Path(name).read_text(encoding="utf-8")
            extras = env.step(fenced(text))[4]["extras"]
            env.get_wrapper_attr("set_state")(state)
            if isinstance(extras["objective"], float):
                database.add(text, extras["objective"], number)
        return database

    def metrics(self) -> dict[str, float]:
        found = self._databases.values()
        counts = {"evolve/programs": float(sum(len(database.programs) for database in found))}
        return {**counts, "evolve/best": max((database.best for database in found), default=0.0)}

    def state_dict(self) -> dict[str, Any]:
        return {"databases": {name: database.state_dict() for name, database in self._databases.items()}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._databases = {name: self._make_database() for name in state["databases"]}
        for name, saved in state["databases"].items():
            self._databases[name].load_state_dict(saved)
