"""Bonus for states in which the next actions lead to many different states."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym

from ....checks import option
from ....errors import InputError
from ....rewards import Step
from .action_channel import empowerment
from .bonus import register
from .slot_bonus import PLAIN, StateBonus

MOST_SEQUENCES = 5_000


@register("empowerment")
class EmpowermentBonus(StateBonus):
    """Empowerment of the next state: the capacity of the channel from actions to successors, computed exactly by taking
    each action from a snapshot (InfoPower, arXiv 2204.08585). form="potential" adds potential differences
    instead (see `StateBonus`).

    The value is a share of the maximum, the logarithm of the number of action sequences. It is 0 for a state that ends
    the episode.
    """

    paper = "InfoPower, arXiv 2204.08585"
    plain_optimum = "changes the optimal policies for good, to those that stay where actions make a difference"
    weight: float = 0.01
    form: str = PLAIN
    horizon: int = option(default=1, low=1, says="number of actions looked ahead.")
    draws: int = option(
        default=1, low=1, says="number of times that each sequence is taken; 1 for deterministic environments."
    )

    def setup(self) -> None:
        super().setup()
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
        super().attach(envs)
        self._scale = max(self.horizon * math.log(int(space.n)), 1e-9)

    def value_of(self, slot: int, observation: Any, extras: Mapping[str, Any]) -> float:
        return empowerment(self.env_of(slot), self.horizon, self.draws) / self._scale

    def reward_step(self, slot: int, step: Step, observation: Any, terminated: bool) -> float | None:
        if not terminated:
            return super().reward_step(slot, step, observation, terminated)
        # No action follows.
        return 0.0 if self.form == PLAIN else -self.weight * self.memory[slot]["value"]
