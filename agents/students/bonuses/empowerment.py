"""A bonus for states in which the next actions lead to many different states."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym

from ....checks import check_count
from ....errors import InputError
from ....rewards import Step, StepReward
from .action_channel import empowerment
from .bonus import BONUSES
from .slot_bonus import LEAVES, PLAIN, StateBonus

MOST_SEQUENCES = 5_000


class EmpowermentBonus(StateBonus):
    """The empowerment of each state as a share of its maximum, the logarithm of the number of action sequences.

    It is exact: every sequence of actions is taken from a snapshot of the environment. A state that ends the task has
    none.

    Args:
        weight, discount, form: of `StateBonus`.
        horizon: actions that are looked ahead.
        draws: times that each sequence is taken in an environment that is random; gridworlds are not.
    """

    name = "empowerment"
    paper = "InfoPower, arXiv 2204.08585"

    def __init__(self, weight: float, discount: float, form: str = PLAIN, horizon: int = 1, draws: int = 1):
        super().__init__(weight, discount, form)
        self.horizon, self.draws = check_count("horizon", horizon, 1), check_count("draws", draws, 1)
        self._envs: Sequence[Any] = ()
        self._scale = 1.0

    def attach(self, envs: Sequence[gym.Env[Any, Any]]) -> None:
        space = envs[0].action_space
        if not isinstance(space, gym.spaces.Discrete):
            raise InputError(f"the bonus {self.name!r} takes every action, so they must be Discrete, not {space}.")
        if not hasattr(envs[0], "set_state"):
            raise InputError(
                f"the bonus {self.name!r} needs an environment with get_state and set_state, not {envs[0]}."
            )
        if int(space.n) ** self.horizon > MOST_SEQUENCES:
            raise InputError(
                f"{int(space.n)} actions have {int(space.n) ** self.horizon:,} sequences of {self.horizon}; at most "
                f"{MOST_SEQUENCES:,} are taken at each step: lower the horizon."
            )
        self._envs = envs
        self._scale = max(self.horizon * math.log(int(space.n)), 1e-9)

    def value_of(self, slot: int, observation: Any, extras: Mapping[str, Any]) -> float:
        if not self._envs:
            raise InputError(f"the bonus {self.name!r} has no environments yet; call attach(environments) first.")
        return empowerment(self._envs[slot], self.horizon, self.draws) / self._scale

    def reward_step(self, slot: int, step: Step, observation: Any, terminated: bool) -> float | None:
        if not terminated:
            return super().reward_step(slot, step, observation, terminated)
        # No action follows.
        return 0.0 if self.form == PLAIN else -self.weight * self.memory[slot]["value"]


@BONUSES.register("empowerment")
def empowerment_bonus(
    discount: float, weight: float = 0.01, form: str = PLAIN, horizon: int = 1, draws: int = 1
) -> tuple[StepReward, str]:
    """Empowerment of the next state: the capacity of the channel from actions to what follows them, exactly, by taking
    each from a snapshot (InfoPower, arXiv 2204.08585). form="potential" adds differences instead."""
    reward = EmpowermentBonus(weight, discount, form, horizon, draws)
    kept = "changes the optimal policies for good, to those that stay where actions make a difference"
    return reward, kept if form == PLAIN else LEAVES
