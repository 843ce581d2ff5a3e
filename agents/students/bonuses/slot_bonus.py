"""Bases of bonuses that keep a memory of the current episode of each environment.

A slot is the index of one of a run's environments. Memory that all slots share (a map, a model, counts) belongs to the
subclass; memory of an episode is kept by slot. Both are saved, as a resumed run plays the current episodes again, which
would otherwise be counted twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym

from ....checks import declared, option
from ....errors import InputError
from ....rewards import Step, StepReward


class SlotBonus(StepReward):
    """Bonus with one memory per slot. Used directly as a `StepReward`, it is the bonus of slot 0.

    A subclass defines `start` and `reward_step`, and stores its memory of an episode in ``self.memory[slot]``, as
    JSON-serializable data.
    """

    def setup(self) -> None:
        self.memory: dict[int, Any] = {}
        self._envs: Sequence[Any] = ()

    def attach(self, envs: Sequence[gym.Env[Any, Any]]) -> None:
        """Receive the environments of slots 0, 1, ...; must be called before the first episode, as `Practice` does."""
        self._envs = envs

    def env_of(self, slot: int) -> Any:
        """Return the environment of a slot. Raises InputError before `attach`."""
        if not self._envs:
            raise InputError(f"the bonus {self.name!r} has no environments yet; call attach(envs) first.")
        return self._envs[slot]

    def start(self, slot: int, observation: Any, extras: Mapping[str, Any]) -> None:
        """Begin an episode in a slot, with the observation and ``info["extras"]`` of the reset."""
        raise NotImplementedError(f"{type(self).__name__} must implement start(slot, observation, extras).")

    def reward_step(self, slot: int, step: Step, observation: Any, terminated: bool) -> float | None:
        """Return the bonus of a step, or None if it cannot be determined; ``observation`` is the one after the step."""
        raise NotImplementedError(f"{type(self).__name__} must implement reward_step(slot, step, ...) -> float.")

    def of_slot(self, slot: int) -> SlotReward:
        """Return the bonus of one slot as a `StepReward`."""
        return SlotReward(self, slot)

    def begin(self, observation: Any, extras: Mapping[str, Any]) -> None:
        self.start(0, observation, extras)

    def step_reward_now(self, step: Step, observation: Any, terminated: bool) -> float | None:
        return self.reward_step(0, step, observation, terminated)

    # Saving -----------------------------------------------------------------------------------------------------------

    def shared(self) -> dict[str, Any]:
        """Return the memory that all slots share, as JSON-serializable data."""
        return {}

    def load_shared(self, state: Mapping[str, Any]) -> None:
        """Restore the memory that `shared` returned."""

    def state_dict(self) -> dict[str, Any]:
        return {"shared": self.shared(), "memory": {str(slot): memory for slot, memory in self.memory.items()}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if set(state) != {"shared", "memory"}:
            raise InputError(f"the saved state of {self.name!r} holds 'memory' and 'shared', not {sorted(state)}.")
        self.load_shared(state["shared"])
        self.memory = {int(slot): memory for slot, memory in state["memory"].items()}


class SlotReward(StepReward):
    """Reward of the environment in one slot by a `SlotBonus`."""

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


def conditions_policy(bonus: Any) -> bool:
    """Return True if a bonus, or a class of bonuses, shows its sub-goals to the student (see `beacons`)."""
    return hasattr(bonus, "condition")


PLAIN, POTENTIAL = "plain", "potential"
LEAVES = "leaves the optimal policies as they are"


@declared
class StateBonus(SlotBonus):
    """Bonus computed from a value V of each state.

    With form "potential" each step gets ``weight * (discount * V(next) - V(here))``, with V(next) = 0 if the step
    terminates the episode (Ng, Harada and Russell, ICML 1999). If V is learned and changes, V(here) is the value at the
    time when the state was reached (Devlin and Kudenko, AAMAS 2012). With form "plain" each step gets
    ``weight * V(next)``.

    Attributes:
        plain_optimum: effect of the form "plain" on the optimal policies, as the predicate of a sentence.
    """

    plain_optimum = "changes the optimal policies for good, to those that stay near"
    weight: float = option(default=1.0, low=0, says="factor of the bonus.")
    discount: float = option(default=0.99, low=0, high=1, says="the student's discount, set by --discount.")
    form: str = option(
        default=POTENTIAL, choices=(POTENTIAL, PLAIN), says='"potential": differences of V; "plain": V itself.'
    )

    @property
    def optimum(self) -> str:
        """Effect on the optimal policies, as the predicate of a sentence."""
        return LEAVES if self.form == POTENTIAL else self.plain_optimum

    def start_episode(self, slot: int, observation: Any, extras: Mapping[str, Any]) -> Any:
        """Return the memory for a new episode, as JSON-serializable data; None by default."""
        return None

    def value_of(self, slot: int, observation: Any, extras: Mapping[str, Any]) -> float | None:
        """Return V of a slot's current state, or None if it cannot be determined."""
        raise NotImplementedError(f"{type(self).__name__} must implement value_of(slot, observation, extras) -> float.")

    def episode_memory(self, slot: int) -> Any:
        """Return the memory that `start_episode` returned for a slot's current episode."""
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
