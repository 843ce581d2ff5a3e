"""`RewardWrapper`: any reward on any Gymnasium environment, ours or not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium as gym

from ..errors import InputError
from .recording import Recording
from .reward import GroupReward, Reward, StepReward


class RewardWrapper(gym.Wrapper[Any, Any, Any, Any]):
    """Wrapper that adds a reward to the environment's own, or replaces the environment's if the reward is complete.

    The reward is computed when the episode ends and added to the last step. A `StepReward` that implements
    ``step_reward_now`` (such as potential-based shaping of observations) is added step by step. Wrappers can be
    stacked.

    On every step, ``info["reward_terms"]`` gains the reward's terms (and still sums to the step's reward), and
    ``info["reward_valid"]`` is False if the reward could not be determined. Success and progress are read from
    ``info["is_success"]`` and ``info["progress"]``, by default False and 0.

    Args:
        env: any environment with scalar rewards.
        reward: the reward to add.
        count: function that returns the length of an action in tokens; None counts the characters of a text, and 1 for
            any other action.
        by_step: add the reward of each step at that step, also if it is read from ``info["extras"]``, for learners that
            see each step once. Otherwise the reward is missing if the caller stops the episode early.

    Raises:
        InputError: the reward compares siblings, needs a measure that is not in the environment's ``supplies``, or with
            ``by_step`` is known only at the end of an episode.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        reward: Reward,
        count: Callable[[Any], int] | None = None,
        by_step: bool = False,
    ):
        if not isinstance(reward, Reward):
            raise InputError(
                f"RewardWrapper needs a reward, such as palaestra.rewards.make('outcome'), not {reward!r}."
            )
        supplied = getattr(env.unwrapped, "supplies", frozenset())
        if missing := sorted(reward.needs - supplied):
            raise InputError(
                f"reward {reward.name!r} needs {missing} of every episode, but this environment supplies "
                f"{sorted(supplied) or 'nothing'}."
            )
        if siblings := sorted({part.name for part in reward.walk() if isinstance(part, GroupReward)}):
            raise InputError(f"{siblings} compare several episodes of one task, but a wrapper sees one at a time.")
        if by_step and not (isinstance(reward, StepReward) and reward.known_per_step and not reward.complete):
            raise InputError(f"reward {reward.name!r} is known at the end of an episode only; leave by_step out.")
        super().__init__(env)
        self.reward = reward
        self._by_step = by_step
        self._count = _count_characters if count is None else count

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        self._recording = Recording(observation, info)
        if isinstance(self.reward, StepReward):
            self.reward.begin(observation, self._recording.extras)
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        result = self.env.step(action)
        observation, _, terminated, truncated, info = result
        recording = self._recording
        last = recording.add(action, result, tokens=self._count(action))
        terms: dict[str, float] = {} if self.reward.complete else dict(last.terms)
        newest = None
        if isinstance(self.reward, StepReward):
            newest = self.reward.step_reward_now(last, observation, terminated)
            if self._by_step and newest is None:
                newest = self.reward.from_extras(last.extras, terminated)
        valid = recording.valid
        if self._by_step:
            valid = valid and newest is not None
            _add_terms(terms, {self.reward.name: newest or 0.0})
        elif newest is not None:
            _add_terms(terms, {self.reward.name: newest})
        elif recording.over:
            verdict = self.reward(recording.episode())
            valid = valid and verdict.valid
            _add_terms(terms, verdict.terms or {self.reward.name: verdict.reward})
        info = {**info, "reward_terms": terms, "reward_valid": valid}
        return observation, float(sum(terms.values())), terminated, truncated, info


def _count_characters(action: Any) -> int:
    return len(action) if isinstance(action, str) else 1


def _add_terms(terms: dict[str, float], more: Mapping[str, float]) -> None:
    """Add ``more`` to ``terms`` in place, summing terms of equal names."""
    for name, value in more.items():
        terms[name] = terms.get(name, 0.0) + float(value)
