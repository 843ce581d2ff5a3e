"""`SlotBonus`: base of the bonuses that remember the episode under way in each of several environments.

A slot is one environment of a run, and its number. What all slots share (a map, a model, counts) is the subclass's own;
what belongs to an episode is kept by slot. Both are saved, as the episodes of a saved run are played again and would
otherwise count twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym

from ....checks import declared, option
from ....errors import InputError
from ....rewards import Step, StepReward


class SlotBonus(StepReward):
    """A bonus with one memory per slot. Used as a reward, it is the bonus of slot 0.

    A subclass has `start` and `reward_step`, and stores its memory of an episode in ``self.memory[slot]``, as plain
    JSON data.
    """

    def setup(self) -> None:
        self.memory: dict[int, Any] = {}
        self._envs: Sequence[Any] = ()

    def attach(self, envs: Sequence[gym.Env[Any, Any]]) -> None:
        """Receive the environments of slots 0, 1, ... before the first episode; `Practice` calls it."""
        self._envs = envs

    def env_of(self, slot: int) -> Any:
        """Return the environment of a slot. Raises InputError before `attach`."""
        if not self._envs:
            raise InputError(f"the bonus {self.name!r} has no environments yet; call attach(envs) first.")
        return self._envs[slot]

    def start(self, slot: int, observation: Any, extras: Mapping[str, Any]) -> None:
        """Begin an episode."""
        raise NotImplementedError(f"{type(self).__name__} must implement start(slot, observation, extras).")

    def reward_step(self, slot: int, step: Step, observation: Any, terminated: bool) -> float | None:
        """Bonus of the step just taken, ``observation`` being the next one; None where it could not be determined."""
        raise NotImplementedError(f"{type(self).__name__} must implement reward_step(slot, step, ...) -> float.")

    def of_slot(self, slot: int) -> SlotReward:
        """Return the bonus as a reward of one environment."""
        return SlotReward(self, slot)

    def begin(self, observation: Any, extras: Mapping[str, Any]) -> None:
        self.start(0, observation, extras)

    def step_reward_now(self, step: Step, observation: Any, terminated: bool) -> float | None:
        return self.reward_step(0, step, observation, terminated)

    # Saving -----------------------------------------------------------------------------------------------------------

    def shared(self) -> dict[str, Any]:
        """Memory that all slots share, as plain JSON data."""
        return {}

    def load_shared(self, state: Mapping[str, Any]) -> None:
        """The inverse of `shared`."""

    def state_dict(self) -> dict[str, Any]:
        return {"shared": self.shared(), "memory": {str(slot): memory for slot, memory in self.memory.items()}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if set(state) != {"shared", "memory"}:
            raise InputError(f"the saved state of {self.name!r} holds 'memory' and 'shared', not {sorted(state)}.")
        self.load_shared(state["shared"])
        self.memory = {int(slot): memory for slot, memory in state["memory"].items()}


class SlotReward(StepReward):
    """A `SlotBonus` as the reward of the environment in one slot."""

    def __init__(self, bonus: SlotBonus, slot: int):
        self.bonus, self.slot = bonus, slot
        self.needs = bonus.needs

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.bonus.name

    def begin(self, observation: Any, extras: Mapping[str, Any]) -> None:
        self.bonus.start(self.slot, observation, extras)

    def step_reward_now(self, step: Step, observation: Any, terminated: bool) -> float | None:
        return self.bonus.reward_step(self.slot, step, observation, terminated)


PLAIN, POTENTIAL = "plain", "potential"
LEAVES = "leaves the optimal policies as they are"


@declared
class StateBonus(SlotBonus):
    """A bonus made of a number for each state, V.

    As "potential" each step gets ``weight * (discount * V(next) - V(here))``, with V = 0 where a step ends the task
    (Ng, Harada and Russell, ICML 1999). V may change while it is learned: each state keeps the number that it had when
    it was reached (Devlin and Kudenko, AAMAS 2012). As "plain" each step gets ``weight * V(next)``.

    Attributes:
        plain_optimum: effect of the plain form on the optimal policies.
    """

    plain_optimum = "changes the optimal policies for good, to those that stay near"
    weight: float = option(default=1.0, low=0, says="of the bonus.")
    discount: float = option(default=0.99, low=0, high=1, says="the student's, by --discount.")
    form: str = option(
        default=POTENTIAL, choices=(POTENTIAL, PLAIN), says='"potential": differences of V; "plain": V itself.'
    )

    @property
    def optimum(self) -> str:
        """Effect on the optimal policies."""
        return LEAVES if self.form == POTENTIAL else self.plain_optimum

    def start_episode(self, slot: int, observation: Any, extras: Mapping[str, Any]) -> Any:
        """Begin the memory of an episode and return it, as plain JSON data."""
        return None

    def value_of(self, slot: int, observation: Any, extras: Mapping[str, Any]) -> float | None:
        """V of the state that a slot is in; None where it could not be determined."""
        raise NotImplementedError(f"{type(self).__name__} must implement value_of(slot, observation, extras) -> float.")

    def episode_memory(self, slot: int) -> Any:
        """Memory that `start_episode` returned for the episode under way."""
        return self.memory[slot]["episode"]

    def start(self, slot: int, observation: Any, extras: Mapping[str, Any]) -> None:
        self.memory[slot] = {"episode": self.start_episode(slot, observation, extras), "value": None}
        self.memory[slot]["value"] = self.value_of(slot, observation, extras)

    def reward_step(self, slot: int, step: Step, observation: Any, terminated: bool) -> float | None:
        before, after = self.memory[slot]["value"], self.value_of(slot, observation, step.extras)
        self.memory[slot]["value"] = after
        if after is None or (self.form == POTENTIAL and before is None):
            return None
        if self.form == PLAIN:
            return self.weight * after
        return self.weight * ((0.0 if terminated else self.discount * after) - before)
