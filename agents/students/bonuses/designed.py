"""Rewards that a designer of `palaestra.rewards.tabular` finds for each level of a small gridworld."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from ....checks import check_choice, check_count, check_share
from ....envs.grids.grid_env import GridEnv
from ....envs.grids.grid_model import LevelModel, identify, model_level
from ....errors import InputError
from ....rewards import Step, StepReward
from ....rewards.tabular import DESIGNERS, RewardProblem, make_designer
from ....rewards.tabular.designer import Walk
from .bonus import BONUSES
from .slot_bonus import SlotBonus

AUXILIARIES = ("progress", "standing", "none")
"""Heuristics for designers that blend one in: the gain in progress at a step; a tenth of the progress after each step,
which rewards standing still; and nothing."""
_KEPT_WALKS = 32


class DesignedLevel:
    """A level, the reward designed for it, and statistics of the learner's behaviour in it.

    Args:
        model: the level.
        auxiliary: one of `AUXILIARIES`.
        designer, options: see `make_designer`.
        saved: state to continue from.
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
        self.walks: list[Walk] = []
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
        """Design the reward anew for the learner's present behaviour; earlier action counts are halved each time."""
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


class DesignedBonus(SlotBonus):
    """``weight * (designed(s, a) - reward)``: with weight 1 the student sees the designed reward of its level alone.

    ``reward`` is the sum of the environment's reward and of the bonuses named before this one; the design's primary
    reward is 1 for accomplishing the mission. A level is enumerated when it is first met. Levels that lead to one
    another count as one. A designer that follows the learner designs the reward anew every ``every`` iterations, when
    its level is played next.

    Args:
        designer: a name in `palaestra.rewards.tabular.DESIGNERS`.
        discount: discount of the design, the same as the student's.
        weight: in [0, 1].
        auxiliary: one of `AUXILIARIES`.
        every: iterations of the student between two designs, for designers that follow the learner.
        options: options of the designer.

    Raises:
        InputError: unknown designer or option, or an argument out of range.
    """

    name = "designed"
    paper = "ExpRD, Devidze et al., NeurIPS 2021, and others"

    def __init__(
        self,
        designer: str,
        discount: float,
        weight: float = 1.0,
        auxiliary: str = "progress",
        every: int = 1,
        options: Mapping[str, Any] | None = None,
    ):
        super().__init__()
        self.options = dict(options or {})
        one = make_designer(designer, **self.options)
        self.designer, self.adaptive = designer, one.adaptive
        if not 0.0 <= discount < 1.0:
            raise InputError(f"a reward is designed for a discount below 1, not {discount!r}; set --discount.")
        self.discount = discount
        self.weight = check_share("weight", weight)
        self.auxiliary = check_choice("auxiliary", auxiliary, AUXILIARIES)
        self.every = check_count("every", every, 1, "iterations")
        self.levels: dict[str, DesignedLevel] = {}
        self._envs: Sequence[gym.Env[Any, Any]] = ()
        self._saved: dict[str, Any] = {}
        self._of_world: dict[Any, str] = {}
        self._iterations = 0

    def attach(self, envs: Sequence[gym.Env[Any, Any]]) -> None:
        if not isinstance(envs[0], GridEnv):
            raise InputError(f"rewards are designed for gridworlds only, not for {envs[0]}.")
        self._envs = envs

    def start(self, slot: int, observation: Any, extras: Mapping[str, Any]) -> None:
        if not self._envs:
            raise InputError(f"the bonus {self.name!r} has no environments yet; call attach(envs) first.")
        before = self.memory.get(slot)
        # After a restart a level may not have been met yet; memory of replayed episodes is dropped anyway.
        level = self.levels.get(before["level"]) if before and self.adaptive and before["states"] else None
        if before and level:
            level.walks.append((before["states"], before["actions"], before["rewards"]))
            del level.walks[:-_KEPT_WALKS]
        name = self._find_level(slot)
        state = self.levels[name].index[identify(self._world(slot))]
        self.memory[slot] = {"level": name, "state": state, "states": [], "actions": [], "rewards": []}

    def _world(self, slot: int) -> Any:
        env: Any = self._envs[slot]
        return env.here()

    def _find_level(self, slot: int) -> str:
        """Return the name of the level that a slot is in, which is designed if it is new."""
        key = identify(self._world(slot))
        if key not in self._of_world:
            env: Any = self._envs[slot]
            model = model_level(env.rules, self._world(slot), self.discount)
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
        # When the level is played next, so that one that is not met any more costs nothing.
        if level.fresh and self._iterations // self.every > level.designed // self.every:
            level.redesign(self._iterations)
        if not 0 <= action < level.table.shape[1]:
            return 0.0
        after = len(level.index) if terminated else level.index[identify(self._world(slot))]
        primary = float(level.problem.primary[state, action])
        # Replaces the step's reward, which may depend on the number of steps and then is not a function of the state.
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
        """Go on with the saved designs: a level is modelled again when it is met again."""
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
    """The reward that a designer finds for each level, as a table: exprd, expadard, explors, barfi or pbrs, with its
    options (palaestra list designers)."""
    reward = DesignedBonus(designer, discount, weight, auxiliary, every, options)
    return reward, DESIGNERS[designer].effect
