"""Go-Explore (Ecoffet et al., arXiv 1901.10995): first explore from stored states until levels are solved, then learn a
policy from the solutions, from their ends backwards.

Exploration needs no policy: the environment is set to a stored state, and random actions are taken from there. The
second phase is PPO in episodes that begin on the solutions (`BackwardStarts`).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from ...errors import InputError
from .backward_starts import BackwardStarts
from .ppo import PPO
from .practice import Practice
from .state_archive import StateArchive
from .student_config import GoExploreConfig
from .student_envs import level_seeds

FILE = "archives.json"
_EXPLORE = 7


class GoExploreStudent:
    """Learner that explores levels for ``explore_share`` of the run, and then learns to play the solved levels by PPO.

    The levels are tasks of the training split whose seeds follow from the run's seed. If no level is solved after
    ``explore_share``, exploration continues until one is.

    Args:
        config: see `GoExploreConfig`.
        practice: as for `PPO`; it also supplies the environment to explore.

    Raises:
        InputError: actions are not Discrete, the environment cannot be set to a state, or as in `PPO`.
    """

    def __init__(self, config: GoExploreConfig, practice: Practice):
        if not isinstance(practice.action_space, gym.spaces.Discrete):
            raise InputError(f"go-explore draws Discrete actions, not {practice.action_space}; take another learner.")
        self.config, self.practice = config, practice
        self.ppo = PPO(config, practice)
        self.starts = practice.starts = BackwardStarts(
            config.move, config.start_success, later=config.later, lag=config.lag
        )
        self.env = practice.open()
        # `BackwardStarts` draws the levels.
        practice.levels = ()
        self.archives = [StateArchive(self.env, seed, config.power) for seed in level_seeds(config)]
        self._rng = np.random.default_rng([config.seed, _EXPLORE])
        self._turn = 0

    def iterate(self, done: float) -> dict[str, float]:
        """Explore or learn for `PPOConfig.iteration` steps, and return metrics.

        Args:
            done: share of the run that is completed, in [0, 1].
        """
        found_ways = {one.level: one.solution for one in self.archives if one.solution is not None}
        if not self.starts.solutions and found_ways and done >= self.config.explore_share:
            self.starts.begin(found_ways)
            self.practice.begin()
        learned: dict[str, float] = {}
        if self.starts.solutions:
            learned = self.ppo.iterate(done)
        else:
            left, most = self.config.iteration, self.config.explore_actions
            while left > 0:
                left -= self._next_archive().explore(min(most, left), self._draw_action(), self._rng)
        solved = sum(one.solution is not None for one in self.archives)
        found = {"levels_solved": solved / len(self.archives), "cells": sum(len(one.cells) for one in self.archives)}
        return {**found, **self.starts.metrics(), **learned}

    def _next_archive(self) -> StateArchive:
        """Return the archive of the level to explore next. Levels take turns; while only some are solved, every second
        turn goes to an unsolved one, as levels that stay unsolved are not learned at all."""
        turn, self._turn = self._turn, self._turn + 1
        unsolved = [archive for archive in self.archives if archive.solution is None]
        if not 0 < len(unsolved) < len(self.archives):
            return self.archives[turn % len(self.archives)]
        number, theirs = divmod(turn, 2)
        return unsolved[number % len(unsolved)] if theirs else self.archives[number % len(self.archives)]

    def _draw_action(self) -> Callable[[], Any]:
        """Return a function that draws random actions, each repeated for `GoExploreConfig.repeat` steps on average."""
        rng, again = self._rng, 1.0 - 1.0 / self.config.repeat
        space: Any = self.practice.action_space
        action = None

        def draw() -> int:
            nonlocal action
            if action is None or rng.random() >= again:
                action = int(space.start + rng.integers(space.n))
            return action

        return draw

    def save_policy(self, folder: Path) -> None:
        """Write the files that are needed to play the policy."""
        self.ppo.save_policy(folder)

    def save(self, folder: Path) -> dict[str, Any]:
        """Write the state to ``folder``; return the JSON-serializable part, which the caller must store."""
        archives = [one.state_dict() for one in self.archives]
        (folder / FILE).write_text(json.dumps(archives, default=int), encoding="utf-8")
        return {
            "ppo": self.ppo.save(folder),
            "starts": self.starts.state_dict(),
            "rng": self._rng.bit_generator.state,
            "turn": self._turn,
        }

    def load(self, folder: Path, state: dict[str, Any]) -> None:
        """Restore the state that `save` wrote to ``folder`` and returned as ``state``."""
        self.ppo.load(folder, state["ppo"])
        self.starts.load_state_dict(state["starts"])
        for archive, saved in zip(self.archives, json.loads((folder / FILE).read_text(encoding="utf-8")), strict=True):
            archive.load_state_dict(saved)
        self._rng.bit_generator.state = state["rng"]
        self._turn = int(state["turn"])

    def load_policy(self, folder: Path) -> None:
        """Load the policy that `save_policy` wrote."""
        self.ppo.load_policy(folder)

    def player(self, temperature: float) -> Callable[..., tuple[list[Any], list[Any]]]:
        """Return PPO's playing function for `StudentAgent`."""
        return self.ppo.player(temperature)
