"""A curriculum for any Gymnasium learner: the teacher chooses the task at each reset and receives each return."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import gymnasium as gym

from ..errors import InputError
from .pools import instance
from .protocol import Outcome, Proposal, Teacher
from .registration import make


class TeacherWrapper(gym.Wrapper[Any, Any, Any, Any], gym.utils.RecordConstructorArgs):
    """Reset the environment with ``options={"params": task}`` and report the outcome of the episodes to the teacher.

    The outcome is the sum of rewards and, where the environment gives it, ``info["is_success"]``. A proposal with n
    episodes is played in n resets and reported after the last. An episode is left out of the report if it was abandoned
    before its end or any of its steps had ``reward_valid: False``, as that is a failure of the machinery and not of the
    student. A reset whose options name ``params`` or ``difficulty`` is an evaluation: it is played as given, without
    the teacher. A task ``{"params": ..., "seed": ...}`` fixes the seed of the reset too. ``info["proposal"]`` holds
    the `Proposal` after a reset and at the end of its episode, so that a learner can read ``proposal.train`` there;
    outcomes of proposals with ``train=False`` are reported as well.

    Each wrapper has its own teacher. With `AsyncVectorEnv` every process would hold a copy that learns from its own
    episodes only; there, call `Teacher.propose` and `Teacher.observe` in the learner instead.

    Args:
        env: its `unwrapped.param_space` is the space of a teacher given by name.
        teacher: a teacher, shared with the caller and not copied; or a registered name, which keeps the spec JSON-able.
        seed, options: for `make`, when the teacher is given by name.
        measure: called with each `WrappedEpisode` at its end; returns the learner's own measurements by name, for
            `Outcome.extras` (see `EpisodeCritic`).

    Raises:
        InputError: the teacher needs more than returns and there is no ``measure``, options come with a made teacher,
            or there is no space.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        teacher: Teacher | str,
        *,
        seed: int = 0,
        measure: Callable[[WrappedEpisode], Mapping[str, float]] | None = None,
        **options: Any,
    ):
        gym.utils.RecordConstructorArgs.__init__(
            self, _disable_deepcopy=True, teacher=teacher, seed=seed, measure=measure, **options
        )
        gym.Wrapper.__init__(self, env)
        if isinstance(teacher, str):
            space = getattr(env.unwrapped, "param_space", None)
            if space is None:
                raise InputError(f"{env} has no param_space; pass make({teacher!r}, space) instead of the name.")
            teacher = make(teacher, space, seed=seed, **options)
        elif options:
            raise InputError(f"{sorted(options)} have no effect on a teacher already made; pass them to teachers.make.")
        if teacher.needs and measure is None:
            raise InputError(
                f"{type(teacher).__name__} needs {sorted(teacher.needs)}, but a wrapper sees returns only; give them "
                "with measure=, or call propose and observe where they are known."
            )
        self.teacher = teacher
        self._measure = measure
        self._proposal: Proposal | None = None
        self._played: WrappedEpisode | None = None
        self._group = _Group()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        if self._played is not None:
            self._end(replace(self._played, valid=False), {})
        self._played = None
        chosen = dict(options or {})
        if "params" in chosen or "difficulty" in chosen:
            return self.env.reset(seed=seed, options=options)
        if self._proposal is None:
            self._proposal, self._group = self.teacher.propose(1)[0], _Group()
        proposal = self._proposal
        params, own = instance(proposal.task)
        observation, info = self.env.reset(seed=seed if own is None else own, options={**chosen, "params": params})
        self._played = WrappedEpisode(proposal)
        if self._measure is not None:
            self._played.observations.append(observation)
        self._note_validity(self._played, info)
        return observation, {**info, "proposal": proposal}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        played = self._played
        if played is None:
            return observation, reward, terminated, truncated, info
        played.rewards.append(float(reward))
        if self._measure is not None:
            played.actions.append(action)
            played.observations.append(observation)
        self._note_validity(played, info)
        if terminated or truncated:
            played.terminated = bool(terminated)
            self._played = None
            self._end(played, info)
            info = {**info, "proposal": played.proposal}
        return observation, reward, terminated, truncated, info

    def _end(self, played: WrappedEpisode, info: Mapping[str, Any]) -> None:
        """Add an episode to its group and report the group to the teacher once it is complete."""
        proposal, group = played.proposal, self._group
        group.episodes += 1
        if played.valid:
            success = info.get("is_success")
            group.returns.append(math.fsum(played.rewards))
            group.successes.append(None if success is None else bool(success))
            for name, value in ({} if self._measure is None else self._measure(played)).items():
                group.extras.setdefault(name, []).append(float(value))
        if group.episodes < (proposal.n or 1):
            return
        self._proposal = None
        if group.returns:
            known = [success for success in group.successes if success is not None]
            successes = known if len(known) == len(group.returns) else None
            self.teacher.observe([Outcome(proposal.id, proposal.task, group.returns, successes, extras=group.extras)])

    def _note_validity(self, played: WrappedEpisode, info: Mapping[str, Any]) -> None:
        played.valid = played.valid and bool(info.get("reward_valid", True))


@dataclass
class WrappedEpisode:
    """An episode as `TeacherWrapper` recorded it.

    Attributes:
        proposal: the proposal that it was played for.
        observations: T + 1 observations; empty where the wrapper has no ``measure``.
        actions: T actions; empty where the wrapper has no ``measure``.
        rewards: T rewards.
        terminated: True where the task ended the episode, False where a limit cut it off.
        valid: True while every reward was valid.
    """

    proposal: Proposal
    observations: list[Any] = field(default_factory=list)
    actions: list[Any] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    terminated: bool = False
    valid: bool = True


@dataclass
class _Group:
    """The episodes of one proposal so far. Only valid episodes have an entry in the lists."""

    episodes: int = 0
    returns: list[float] = field(default_factory=list)
    successes: list[bool | None] = field(default_factory=list)
    extras: dict[str, list[float]] = field(default_factory=dict)
