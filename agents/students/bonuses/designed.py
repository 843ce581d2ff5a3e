"""Bonus by reward tables that an algorithm of `palaestra.rewards.tabular` designs for each level of a gridworld."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from ....checks import declared, option
from ....envs.grids.grid_env import GridEnv
from ....envs.grids.grid_model import LevelModel, identify, model_level
from ....errors import InputError
from ....rewards import Step, StepReward
from ....rewards.tabular import DESIGNERS, RewardProblem, make_designer
from ....rewards.tabular.designer import TabularTrajectory
from .bonus import BONUSES
from .slot_bonus import SlotBonus

AUXILIARIES = ("progress", "standing", "none")
"""Heuristic rewards for designers that add one: the gain in progress at a step; a tenth of the progress after each
step, which also rewards standing still; or nothing."""
_KEPT_WALKS = 32


class DesignedLevel:
    """Level with its designed reward and statistics of the learner's behaviour.

    Args:
        model: the enumerated level.
        auxiliary: one of `AUXILIARIES`.
        designer, options: see `make_designer`.
        saved: result of `state_dict` to restore, or None.
    """

    def __init__(
        self,
        model: LevelModel,
        auxiliary: str,
        designer: str,
        options: Mapping[str, Any],
        saved: Mapping[str, Any] | None = None,
    ):
        self.index = model.index
        self.problem = RewardProblem(model.mdp, model.reward, _heuristic(model, auxiliary))
        self.designer = make_designer(designer, **options)
        self.counts = np.zeros_like(self.problem.primary)
        self.walks: list[TabularTrajectory] = []
        self.designed, self.fresh = 0, False
        if saved is None or self.designer.adaptive:
            self.table = self.designer.design(self.problem)
        if saved is not None:
            self.load_state_dict(saved)

    @property
    def policy(self) -> np.ndarray:
        """Estimate of the learner's policy from its action counts, [S, A]; uniform in unvisited states."""
        counts = self.counts + 1.0 / self.counts.shape[1]
        return counts / counts.sum(1, keepdims=True)

    def redesign(self, iteration: int) -> None:
        """Design the reward again for the learner's current behaviour; then halve the action counts."""
        self.designed, self.fresh = iteration, False
        table = self.designer.redesign(self.problem, self.policy, self.walks)
        self.table = self.table if table is None else table
        self.counts, self.walks = self.counts / 2, []

    def state_dict(self) -> dict[str, Any]:
        return {
            "designer": self.designer.state_dict(),
            "table": self.table.tolist(),
            "counts": self.counts.tolist(),
            "walks": [list(walk) for walk in self.walks],
            "designed": self.designed,
            "fresh": self.fresh,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.designer.load_state_dict(state["designer"])
        self.table, self.counts = np.array(state["table"]), np.array(state["counts"])
        self.walks = [(walk[0], walk[1], walk[2]) for walk in state["walks"]]
        self.designed, self.fresh = int(state["designed"]), bool(state["fresh"])


@declared
class DesignedBonus(SlotBonus):
    """Bonus ``weight * (designed(s, a) - reward)``: with weight 1 the student only receives the designed reward.

    ``reward`` is the sum of the environment's reward and of the bonuses before this one; the reward to which the design
    is equivalent is 1 for accomplishing the mission. A level's states are enumerated when the level is first played;
    levels with the same set of reachable states count as one. An adaptive designer designs the reward again every
    ``every`` iterations, when the level is played next.

    Raises:
        InputError: unknown designer or option, an option out of range, or a discount of 1.
    """

    name = "designed"
    paper = "ExpRD, Devidze et al., NeurIPS 2021, and others"
    designer: str = option(says="a name in `palaestra.rewards.tabular.DESIGNERS`.")
    discount: float = option(low=0, high=1, says="the student's discount, which must be below 1.")
    weight: float = option(default=1.0, low=0, high=1, says="weight of the designed reward.")
    auxiliary: str = option(default="progress", choices=AUXILIARIES, says="one of `AUXILIARIES`.")
    every: int = option(
        default=1, low=1, unit="iterations", says="iterations between two designs of an adaptive designer."
    )
    options: Mapping[str, Any] = option(default_factory=dict, says="options of the designer.")

    def setup(self) -> None:
        super().setup()
        self.adaptive = make_designer(self.designer, **self.options).adaptive
        if self.discount == 1.0:
            raise InputError(f"a reward is designed for a discount below 1, not {self.discount!r}; set --discount.")
        self.levels: dict[str, DesignedLevel] = {}
        self._saved: dict[str, Any] = {}
        self._of_world: dict[Any, str] = {}
        self._iterations = 0

    def attach(self, envs: Sequence[gym.Env[Any, Any]]) -> None:
        if not isinstance(envs[0], GridEnv):
            raise InputError(f"rewards are designed for gridworlds only, not for {envs[0]}.")
        super().attach(envs)

    def start(self, slot: int, observation: Any, extras: Mapping[str, Any]) -> None:
        env = self.env_of(slot)
        before = self.memory.get(slot)
        # After a resume the level may not have been played yet; the memory of replayed episodes is dropped anyway.
        level = self.levels.get(before["level"]) if before and self.adaptive and before["states"] else None
        if before and level:
            level.walks.append((before["states"], before["actions"], before["rewards"]))
            del level.walks[:-_KEPT_WALKS]
        name = self._find_level(slot)
        state = self.levels[name].index[identify(env.here())]
        self.memory[slot] = {"level": name, "state": state, "states": [], "actions": [], "rewards": []}

    def _find_level(self, slot: int) -> str:
        """Return the name of the level that a slot is in; design the reward of a new level."""
        env = self.env_of(slot)
        key = identify(env.here())
        if key not in self._of_world:
            model = model_level(env.rules, env.here(), self.discount)
            name = hashlib.blake2b(repr(sorted(model.index, key=repr)).encode(), digest_size=12).hexdigest()
            saved = self._saved.pop(name, None)
            if name not in self.levels:
                self.levels[name] = DesignedLevel(model, self.auxiliary, self.designer, self.options, saved)
            self._of_world |= dict.fromkeys(model.index, name)
        return self._of_world[key]

    def reward_step(self, slot: int, step: Step, observation: Any, terminated: bool) -> float:
        memory = self.memory[slot]
        level, state = self.levels[memory["level"]], memory["state"]
        action = int(step.action)
        # Redesigned when the level is played next, so that levels that are no longer played cost nothing.
        if level.fresh and self._iterations // self.every > level.designed // self.every:
            level.redesign(self._iterations)
        if not 0 <= action < level.table.shape[1]:
            return 0.0
        after = len(level.index) if terminated else level.index[identify(self.env_of(slot).here())]
        primary = float(level.problem.primary[state, action])
        # Replaces the step's reward, which may depend on the number of steps and not only on the state.
        bonus = self.weight * (float(level.table[state, action]) + level.designer.visit(after) - step.reward)
        if self.adaptive:
            level.fresh = True
            level.counts[state, action] += 1.0
            for name, value in (("states", state), ("actions", action), ("rewards", primary)):
                memory[name].append(value)
        memory["state"] = after
        return bonus

    def advance(self, step: int, steps: int) -> None:
        self._iterations += 1

    def shared(self) -> dict[str, Any]:
        levels = {name: level.state_dict() for name, level in self.levels.items()}
        return {"levels": {**self._saved, **levels}, "iterations": self._iterations}

    def load_shared(self, state: Mapping[str, Any]) -> None:
        """Restore saved designs. A level is enumerated again when it is played next."""
        self._saved, self._iterations = dict(state["levels"]), int(state["iterations"])
        met, self.levels = self.levels, {}
        for name, level in met.items():
            if saved := self._saved.pop(name, None):
                level.load_state_dict(saved)
                self.levels[name] = level
        self._of_world = {key: name for name, level in self.levels.items() for key in level.index}


def _heuristic(model: LevelModel, auxiliary: str) -> np.ndarray | None:
    if auxiliary == "none":
        return None
    if auxiliary == "standing":
        return 0.1 * model.progress
    # Progress before an action equals the progress after any action that leads to this state.
    before = np.zeros(len(model.progress))
    chances = model.mdp.transitions
    for action in range(model.progress.shape[1]):
        before[chances[:, action].argmax(1)] = model.progress[:, action]
    before[-1] = 0.0
    gain = model.progress - before[:, None]
    gain[-1] = 0.0
    return gain


@BONUSES.register("designed")
def designed(
    discount: float,
    designer: str = "exprd",
    weight: float = 1.0,
    auxiliary: str = "progress",
    every: int = 1,
    **options: Any,
) -> tuple[StepReward, str]:
    """Reward table that a designer (exprd, expadard, explors, barfi or pbrs) computes for each level; further options
    are the designer's (palaestra list designers)."""
    reward = DesignedBonus(designer, discount, weight, auxiliary, every, options)
    return reward, DESIGNERS[designer].effect
