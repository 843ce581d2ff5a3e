"""A curriculum for any Gymnasium learner: the teacher chooses the task at each reset and receives each return."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym

from ..checks import WatchedMapping
from ..errors import InputError
from ..rewards.recording import Recording
from .pools import instance
from .protocol import Outcome, Proposal, Teacher
from .registration import TEACHERS, choose_space, make, range_options
from .served import ServedTeacher, TeacherHandle

MAX_SEEDS = 10_000  # number of latest reset seeds whose proposals are remembered


class TeacherWrapper(gym.Wrapper[Any, Any, Any, Any], gym.utils.RecordConstructorArgs):
    """Reset the environment with ``options={"params": task}`` and report the outcome of the episodes to the teacher.

    The outcome holds the sum of rewards and, if the environment reports it, ``info["is_success"]``. A proposal with n
    episodes is played in n resets and reported after the last. An episode is left out of the report if it was abandoned
    before its end, or if any of its steps had ``reward_valid: False``, as this is a failure of the machinery and not of
    the student. A reset whose options have ``params`` or ``difficulty`` is an evaluation, played without the teacher. A
    task ``{"params": ..., "seed": ...}`` fixes the seed of the reset too. ``info["proposal"]`` holds the `Proposal`
    after a reset and at the end of its episode, so that a learner can read ``proposal.train``; outcomes of proposals
    with ``train=False`` are reported, too.

    A seed identifies an episode, as in every Gymnasium environment. The first ``reset(seed=7)`` plays the teacher's
    current proposal with that seed. A later ``reset(seed=7)`` plays the same task again, even if the teacher has
    learned in between; the repetition is not reported. The latest `MAX_SEEDS` seeds are remembered.

    Workers in several processes (`AsyncVectorEnv`, `SubprocVecEnv`, Ray) need a served teacher. Otherwise each worker
    would train a separate copy, from its own episodes only:

        with serve(make("alp-gmm", space, seed=0)) as teacher:
            envs = AsyncVectorEnv([lambda: TeacherWrapper(gym.make("palaestra/Countdown-v0"), teacher)] * 4)

    Args:
        env: an environment whose reset reads the task from ``options["params"]``; `palaestra.envs.ParamEnv` makes one
            from any other environment. A teacher given by name chooses from the ``param_space`` of the environment or
            of one of its wrappers (see `choose_space`).
        teacher: a teacher, shared with the caller and not copied; a served teacher or a handle to it; or a registered
            name, which gives each wrapper a separate teacher, with the range of returns that the environment declares,
            and keeps the spec JSON-able.
        seed, options: passed to `make` if the teacher is given by name.
        measure: called with each `WrappedEpisode` at its end; returns the learner's own measurements by name, for
            `Outcome.extras` (see `EpisodeCritic`).

    Raises:
        InputError: the teacher needs extras and ``measure`` is None; options are given with a teacher object; or a name
            is given and neither the environment nor a wrapper has a ``param_space``. At a reset: the teacher is a copy
            made by pickling or forking.

    Warns:
        UserWarning: the environment does not read its task, ``options["params"]``, in the first episode.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        teacher: Teacher | ServedTeacher | TeacherHandle | str,
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
            TEACHERS[teacher]  # raises for an unknown name first
            space = choose_space(teacher, env)
            if space is None:
                raise InputError(
                    f"{env} has no param_space; give it one by palaestra.envs.ParamEnv(env, [axes]), or, where its "
                    f"reset reads options['params'], pass make({teacher!r}, space): a ParamSpace, Box or Discrete."
                )
            teacher = make(teacher, space, seed=seed, **{**range_options(env), **options})
        elif options:
            raise InputError(f"{sorted(options)} have no effect on a teacher already made; pass them to teachers.make.")
        if isinstance(teacher, ServedTeacher):
            teacher = teacher.handle()
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
        # The task of the first episode and its options, watched for being read; None after that episode.
        self._watched: tuple[WatchedMapping, Any] | None = WatchedMapping({}), None
        self._proposal_of: dict[int, Proposal] = {}  # seed -> proposal, the oldest seed first

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        chosen = dict(options or {})
        if "params" in chosen or "difficulty" in chosen:
            self._abandon(keep=True)
            return self.env.reset(seed=seed, options=options)
        again = None if seed is None else self._proposal_of.get(seed)
        self._abandon(keep=again is not None)
        proposal = self._propose() if again is None else again
        if seed is not None:
            self._proposal_of[seed] = proposal
            while len(self._proposal_of) > MAX_SEEDS:
                del self._proposal_of[next(iter(self._proposal_of))]
        params, own = instance(proposal.task)
        chosen["params"] = params
        if self._watched is not None:
            # A wrapper may copy the options, and an environment may read the task later than at its reset.
            params = chosen["params"] = WatchedMapping(params) if isinstance(params, dict) else params
            chosen = WatchedMapping(chosen)
            self._watched = chosen, params
        observation, info = self.env.reset(seed=seed if own is None else own, options=chosen)
        self._played = WrappedEpisode(proposal, Recording(observation, info), again is not None)
        return observation, {**info, "proposal": proposal}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = result = self.env.step(action)
        played = self._played
        if played is None:
            return result
        # Observations and actions may be large, and only a measurement needs them.
        keep = self._measure is not None
        played.recording.add(action if keep else None, result, seen=None if keep else ())
        if terminated or truncated:
            self._played = None
            self._warn_if_unread()
            if not played.again:
                self._end(played, counts=played.recording.valid)
            info = {**info, "proposal": played.proposal}
        return observation, reward, terminated, truncated, info

    def _warn_if_unread(self) -> None:
        """Warn at the end of the first episode if the environment has not read its task."""
        if self._watched is None:
            return
        (options, params), self._watched = self._watched, None
        if "params" not in options.read or (isinstance(params, WatchedMapping) and params and not params.read):
            warnings.warn(
                f"{self.env.unwrapped} did not read options['params'] of its reset in the first episode, so that it "
                "plays the same tasks whatever the teacher proposes; palaestra.envs.ParamEnv(env, [axes]) sets its "
                "parameters.",
                stacklevel=3,
            )

    def close(self) -> None:
        super().close()
        if isinstance(self.teacher, TeacherHandle):
            self.teacher.close()

    def _propose(self) -> Proposal:
        """Return the proposal whose group is incomplete, or else a new one."""
        if isinstance(self.teacher, Teacher) and self.teacher.is_copy:
            raise InputError(
                f"this process has a copy of the {type(self.teacher).__name__} that another one made, and its maker "
                "would learn nothing from these episodes; pass palaestra.teachers.serve(teacher), which all workers "
                "may share, or a name for a teacher of its own in each."
            )
        if self._proposal is None:
            self._proposal, self._group = self.teacher.propose(1)[0], _Group()
        return self._proposal

    def _abandon(self, keep: bool) -> None:
        """End the running episode without a result. With ``keep``, an episode without a step does not count."""
        played, self._played = self._played, None
        if played is not None and not played.again and (played.recording.steps or not keep):
            self._end(played, counts=False)

    def _end(self, played: WrappedEpisode, counts: bool) -> None:
        """Add an episode to its group and report the group to the teacher once it is complete."""
        proposal, group = played.proposal, self._group
        group.episodes += 1
        if counts:
            group.returns.append(math.fsum(played.rewards))
            group.successes.append(played.recording.success)
            for name, value in ({} if self._measure is None else self._measure(played)).items():
                group.extras.setdefault(name, []).append(float(value))
        if group.episodes < (proposal.n or 1):
            return
        self._proposal = None
        if not group.returns and isinstance(self.teacher, TeacherHandle):
            self.teacher.drop(proposal)
        if group.returns:
            known = [success for success in group.successes if success is not None]
            successes = known if len(known) == len(group.returns) else None
            self.teacher.observe([Outcome(proposal.id, proposal.task, group.returns, successes, extras=group.extras)])


@dataclass(frozen=True)
class WrappedEpisode:
    """An episode of T steps under `TeacherWrapper`.

    Attributes:
        proposal: the proposal that the episode belongs to.
        recording: record of the episode; without observations and actions if the wrapper has no ``measure``.
        again: True if a repeated reset seed replayed the task.
    """

    proposal: Proposal
    recording: Recording
    again: bool = False

    @property
    def observations(self) -> list[Any]:
        """T + 1 observations."""
        return [step.observation for step in self.recording.steps] + [self.recording.observation]

    @property
    def actions(self) -> list[Any]:
        """T actions."""
        return [step.action for step in self.recording.steps]

    @property
    def rewards(self) -> list[float]:
        """T rewards."""
        return [step.reward for step in self.recording.steps]

    @property
    def terminated(self) -> bool:
        """True where the task ended the episode, False where a limit cut it off."""
        return self.recording.terminated


@dataclass
class _Group:
    """The episodes of one proposal so far. Only valid episodes have an entry in the lists."""

    episodes: int = 0
    returns: list[float] = field(default_factory=list)
    successes: list[bool | None] = field(default_factory=list)
    extras: dict[str, list[float]] = field(default_factory=dict)
