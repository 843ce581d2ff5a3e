"""Bonus for states that resemble later stages of demonstrations by an environment's solver."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from ....checks import option
from ....envs.grids.cells import GOAL, THINGS
from ....envs.grids.grid_env import GridEnv
from ....envs.grids.grid_world import World
from ....errors import InputError
from ...oracle import has_solver
from ..observations import CODES, ObservationCode
from .bonus import register
from .slot_bonus import StateBonus
from .stage_detectors import MOST_FEATURES, StageDetector, cut, fit_detectors, split_stages, stage_reward

_KEY = 11
_MOST_STEPS = 10_000
_TRIES = 4
"""Most episodes of the solver per requested demonstration; the solver may fail or be too fast."""
COUNTED = ("open door", "closed door", "locked door", "key", "ball", "box", "goal", "lava")
"""Counted objects of a gridworld, the first features of `count_things`."""


@register("stages")
class StageBonus(StateBonus):
    """Similarity to later stages of the solver's demonstrations, by Gaussian detectors of the stages' features
    (Unsupervised Perceptual Rewards, arXiv 1612.06699). form="plain" adds the similarity itself, as the paper
    does, instead of potential differences (see `StateBonus`).

    Before training, the environment's solver plays a few episodes. The similarity is scaled to a mean of 0 in the first
    stage and of 1 in the last one. The features of a gridworld are the changes since the episode began in the numbers
    of objects (keys, open doors, ...), in the carried object, and in whether the agent is on a goal. The features of
    other environments are the observations.
    """

    paper = "Unsupervised Perceptual Rewards, arXiv 1612.06699"
    plain_optimum = "changes the optimal policies for good, to those that end late"
    weight: float = 0.3
    stages: int = option(default=2, low=2, says="number of stages.")
    demonstrations: int = option(default=16, low=1, says="number of successful episodes of the solver.")
    most: int = option(default=32, low=1, says="most features of a detector.")
    contrast: float = option(default=1.0, above=0, says="weight of the distance of means in the choice of features.")
    seed: int = option(default=0, says="seed of the demonstrations.")

    def setup(self) -> None:
        super().setup()
        self.detectors: list[StageDetector] = []
        self._low, self._high = 0.0, 1.0
        self._code: ObservationCode | None = None

    def attach(self, envs: Sequence[gym.Env[Any, Any]]) -> None:
        super().attach(envs)
        if not isinstance(envs[0], GridEnv):
            self._code = ObservationCode(envs[0].observation_space)
        rows = self._play(envs[0])
        everything = np.concatenate(rows)
        # Features that are constant over the demonstrations carry no information.
        varied = np.argsort(-everything.std(0), kind="stable")[:MOST_FEATURES]
        starts = split_stages([one[:, varied] for one in rows], self.stages)
        parts = [cut(one, begun) for one, begun in zip(rows, starts, strict=True)]
        stages = [np.concatenate([part[stage] for part in parts]) for stage in range(self.stages)]
        self.detectors = fit_detectors(stages, self.most, self.contrast)
        self._low, self._high = (
            float(np.mean([stage_reward(self.detectors, row) for row in stages[at]])) for at in (0, -1)
        )
        if not self._high > self._low:
            raise InputError(
                f"no feature of what is observed tells the last of {self.stages} stages of the demonstrations from the "
                f"first; ask for another number of stages, or for more than {self.demonstrations} demonstrations."
            )

    def _play(self, env: gym.Env[Any, Any]) -> list[np.ndarray]:
        """Play the environment's solver; return the features [T, F] of each successful episode."""
        if not has_solver(env):
            raise InputError(f"the bonus {self.name!r} needs demonstrations, and {env} has no solver that gives them.")
        solve = env.get_wrapper_attr("oracle")
        found: list[np.ndarray] = []
        for number in range(_TRIES * self.demonstrations):
            seed = int(np.random.SeedSequence([self.seed, _KEY, number]).generate_state(1)[0])
            observation, info = env.reset(seed=seed)
            begun = self._look(env, observation)
            rows, over = [self._since(begun, begun)], False
            while not over and len(rows) < _MOST_STEPS:
                observation, _, terminated, truncated, info = env.step(solve())
                rows.append(self._since(begun, self._look(env, observation)))
                over = terminated or truncated
            if info.get("is_success") and len(rows) >= self.stages:
                found.append(np.stack(rows))
            if len(found) == self.demonstrations:
                return found
        raise InputError(
            f"of {_TRIES * self.demonstrations} episodes of the solver {len(found)} were successes of at least "
            f"{self.stages} states; {self.demonstrations} are wanted: ask for fewer demonstrations or stages."
        )

    def _look(self, env: Any, observation: Any) -> np.ndarray:
        """Return the features of a state, float64[F]; in a gridworld the counts, from which `_since` subtracts those of
        the first state."""
        if self._code is None:
            return count_things(env.here())
        parts = []
        for name, array in self._code.encode([observation]).items():
            values = array.ravel()
            if name.startswith("cells"):
                parts.append((np.minimum(values, CODES - 1)[:, None] == np.arange(CODES)).ravel())
            else:
                parts.append(values / 255.0 if name.startswith("pixels") else values)
        return np.concatenate(parts).astype(np.float64)

    def _since(self, begun: np.ndarray, now: np.ndarray) -> np.ndarray:
        return now if self._code is not None else now - begun

    def start_episode(self, slot: int, observation: Any, extras: Mapping[str, Any]) -> Any:
        if not self.detectors:
            raise InputError(f"the bonus {self.name!r} has no demonstrations yet; call attach(environments) first.")
        return self._look(self.env_of(slot), observation).tolist() if self._code is None else None

    def value_of(self, slot: int, observation: Any, extras: Mapping[str, Any]) -> float:
        begun = self.episode_memory(slot)
        row = self._look(self.env_of(slot), observation)
        row = row if begun is None else row - np.array(begun)
        return (stage_reward(self.detectors, row) - self._low) / (self._high - self._low)

    def shared(self) -> dict[str, Any]:
        return {"detectors": [one.to_json() for one in self.detectors], "low": self._low, "high": self._high}

    def load_shared(self, state: Mapping[str, Any]) -> None:
        self.detectors = [StageDetector.from_json(data) for data in state["detectors"]]
        self._low, self._high = float(state["low"]), float(state["high"])


_NAMES = [f"{thing.state} {thing.kind}" if thing.kind == "door" else thing.kind for thing in THINGS]
_COLUMNS = np.array([COUNTED.index(name) if name in COUNTED else len(COUNTED) for name in _NAMES])


def count_things(world: World) -> np.ndarray:
    """Return the features of a gridworld's state, float64[12]: number of cells with each of `COUNTED`, three flags for
    a carried key, ball or box, and a flag for the agent on a goal."""
    return _count(world.cells, world.carried, world.cells[world.agent] == GOAL)


@functools.lru_cache(maxsize=4096)
def _count(cells: bytes, carried: int, arrived: bool) -> np.ndarray:
    counts = np.bincount(_COLUMNS[np.frombuffer(cells, np.uint8)], minlength=len(COUNTED) + 1)[: len(COUNTED)]
    held = [THINGS[carried].kind == kind for kind in ("key", "ball", "box")]
    return np.array([*counts, *held, arrived], dtype=np.float64)
