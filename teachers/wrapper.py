"""A curriculum for any Gymnasium learner: the teacher chooses the task at each reset and sees each return."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym

from ..errors import InputError
from .protocol import Outcome, Proposal, Teacher
from .registry import make


class TeacherWrapper(gym.Wrapper[Any, Any, Any, Any], gym.utils.RecordConstructorArgs):
    """Resets the environment with ``options={"params": task}`` and tells the teacher how the episode went.

    The outcome is the sum of rewards and, where the environment gives it, ``info["is_success"]``. Nothing is told of an
    episode that was left before its end, or in which any step said ``reward_valid: False``: that is the machinery's
    failure, not the student's. A reset whose options name ``params`` or ``difficulty`` is played as asked, without the
    teacher (evaluation). ``info["proposal"]`` holds the `Proposal` after a reset and at the end of its episode. A
    learner that honours ``proposal.train`` reads it there; the teacher is told of evaluations too.

    Each wrapper asks its own teacher. With `AsyncVectorEnv` every process would hold a copy that learns from its own
    episodes only; there, call `Teacher.propose` and `Teacher.observe` in the learner instead.

    Args:
        env: its `unwrapped.param_space` is the space of a teacher given by name.
        teacher: a teacher, shared with the caller and not copied; or a registered name, which keeps the spec JSON-able.
        seed, options: for `make`, when the teacher is given by name.

    Raises:
        InputError: the teacher needs more than returns, options come with a made teacher, or there is no space.
    """

    def __init__(self, env: gym.Env[Any, Any], teacher: Teacher | str, *, seed: int = 0, **options: Any):
        gym.utils.RecordConstructorArgs.__init__(self, _disable_deepcopy=True, teacher=teacher, seed=seed, **options)
        gym.Wrapper.__init__(self, env)
        if isinstance(teacher, str):
            space = getattr(env.unwrapped, "param_space", None)
            if space is None:
                raise InputError(f"{env} has no param_space; pass make({teacher!r}, space) instead of the name.")
            teacher = make(teacher, space, seed=seed, **options)
        elif options:
            raise InputError(f"{sorted(options)} have no effect on a teacher already made; pass them to teachers.make.")
        if teacher.needs:
            raise InputError(
                f"{type(teacher).__name__} needs {sorted(teacher.needs)}, but a wrapper sees returns only; "
                "call propose and observe where those are known."
            )
        self.teacher = teacher
        self._proposal: Proposal | None = None
        self._return, self._valid = 0.0, True

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self._proposal, self._return, self._valid = None, 0.0, True
        chosen = dict(options or {})
        if "params" in chosen or "difficulty" in chosen:
            return self.env.reset(seed=seed, options=options)
        proposal = self.teacher.propose(1)[0]
        observation, info = self.env.reset(seed=seed, options={**chosen, "params": proposal.task})
        self._proposal = proposal
        self._note_validity(info)
        return observation, {**info, "proposal": proposal}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        proposal = self._proposal
        if proposal is None:
            return observation, reward, terminated, truncated, info
        self._return += float(reward)
        self._note_validity(info)
        if terminated or truncated:
            self._proposal = None
            if self._valid:
                success = info.get("is_success")
                successes = None if success is None else [bool(success)]
                self.teacher.observe([Outcome(proposal.id, proposal.task, [self._return], successes)])
            info = {**info, "proposal": proposal}
        return observation, reward, terminated, truncated, info

    def _note_validity(self, info: Mapping[str, Any]) -> None:
        self._valid = self._valid and bool(info.get("reward_valid", True))
