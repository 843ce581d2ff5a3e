"""RLlib on gridworlds, with one teacher that chooses the levels for all env runners.

    from palaestra.integrations.rllib import environment, log_outcome, teacher_of
    from ray.rllib.algorithms.ppo import PPOConfig

    name = environment("palaestra/LavaGap-v0", teacher="alp-gmm", seed=0)
    config = PPOConfig().environment(name).callbacks(on_episode_end=log_outcome)
    result = config.build_algo().train()
    print(result["env_runners"]["success"], teacher_of(name).metrics())

Any algorithm of RLlib's new API works. The teacher lives in the process that called `environment` and is served to the
env runners, so that all of them report to one teacher; with ``host`` also to env runners on other machines. Evaluate
without the teacher, in separate env runners, which RLlib makes if ``evaluation_interval`` is set:

    without = {"explore": False, "env_config": {"teacher": None, "split": "test"}}
    config.evaluation(evaluation_interval=5, evaluation_duration=50, evaluation_config=without)

Environments in text have no array observations; language models play them.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import gymnasium as gym

from ..errors import InputError, needs_extra
from ..teachers import ServedTeacher, Teacher, TeacherHandle, TeacherWrapper, make, serve
from ..teachers.registration import choose_space, range_options
from ..teachers.students.ppo import VectorObservation
from .core import make_array_env

_KEPT = ("is_success", "progress", "difficulty", "action_error")
_TEACHERS: dict[str, ServedTeacher] = {}
_NUMBERS = itertools.count()


class JudgedSteps(gym.Wrapper[Any, Any, Any, Any]):
    """Wrapper that keeps only small, plain entries of ``info``, as RLlib stores it every step and sends it between
    processes.

    If the machinery could not judge a step, RuntimeError is raised, so that no reward is learned from. RLlib drops such
    an episode, and restarts the environment with ``config.fault_tolerance(restart_failed_sub_environments=True)``.
    """

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        return observation, _plain(info)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        if info.get("reward_valid") is False:
            raise RuntimeError(f"a step could not be judged: {info.get('action_error') or info.get('feedback')}")
        return observation, float(reward), terminated, truncated, _plain(info)


def environment(
    env_id: str,
    teacher: str | Teacher | ServedTeacher | None = None,
    *,
    seed: int = 0,
    host: str | None = None,
    **kwargs: Any,
) -> str:
    """Register an environment with RLlib and return its name for ``config.environment(name)``.

    Observations are one array of float32 in [0, 1]. An ``env_config`` adds arguments of the environment or overrides
    ``kwargs``; with ``{"teacher": None}`` the environment is played without the teacher.

    Args:
        env_id: an environment with arrays or numbers as observations, such as palaestra/DoorKey-v0.
        teacher: a registered name, a teacher, or a served teacher; None plays the environment's own distribution.
        seed: seed of a teacher given by name.
        host: name or address under which env runners on other machines reach this one.
        **kwargs: the environment's arguments.

    Raises:
        MissingExtra: RLlib, or a package that it needs, is absent.
        InputError: an unknown environment or teacher, an environment that is played in text, or a teacher that needs
            more than returns.
    """
    # Build the environment here, so that wrong arguments raise before an env runner starts.
    env = make_array_env(env_id, kwargs)
    name = f"{env_id}-{next(_NUMBERS)}"
    try:
        if isinstance(teacher, str):
            space = choose_space(teacher, env)
            if space is None:
                raise InputError(f"{env_id} has no parameters that a teacher could choose; leave the teacher out.")
            teacher = make(teacher, space, seed=seed, **range_options(env))
        VectorObservation(env if teacher is None else TeacherWrapper(env, teacher))
    finally:
        env.close()
    with needs_extra("palaestra.integrations.rllib", "rllib"):
        import ray.rllib  # noqa: F401
        from ray.tune.registry import register_env
    if isinstance(teacher, Teacher):
        teacher = serve(teacher, host=host)
    if teacher is not None:
        _TEACHERS[name] = teacher
    register_env(name, _Maker(env_id, kwargs, None if teacher is None else teacher.handle()))
    return name


def teacher_of(name: str) -> ServedTeacher:
    """Return the teacher behind a name from `environment`, for its metrics, its state and ``close()``.

    Raises:
        InputError: the name has no teacher in this process.
    """
    if name not in _TEACHERS:
        raise InputError(f"no teacher was given for {name!r} in this process; environment(..., teacher=...) names one.")
    return _TEACHERS[name]


def log_outcome(*, episode: Any, metrics_logger: Any, **_: Any) -> None:
    """Log success and progress of an episode, as ``result["env_runners"]["success"]`` and ``"progress"``. Pass the
    function as ``config.callbacks(on_episode_end=log_outcome)``."""
    info = episode.get_infos(-1)
    for name, value in (("success", info.get("is_success")), ("progress", info.get("progress"))):
        if value is not None:
            metrics_logger.log_value(name, float(value), window=100)


class _Maker:
    """Picklable function that makes the environment of an env runner, in any process."""

    def __init__(self, env_id: str, kwargs: Mapping[str, Any], handle: TeacherHandle | None):
        self.env_id, self.kwargs, self.handle = env_id, dict(kwargs), handle

    def __call__(self, context: Mapping[str, Any]) -> gym.Env[Any, Any]:
        arguments = {**self.kwargs, **context}
        if "num_envs" in arguments:
            raise InputError("RLlib's gym_env_vectorize_mode must be 'SYNC' or 'ASYNC' for environments of Palaestra.")
        teacher = arguments.pop("teacher", self.handle)
        if teacher is not None and teacher is not self.handle:
            raise InputError(f"'teacher' in an env_config can only be None, not {teacher!r}; give it to environment().")
        env = make_array_env(self.env_id, arguments)
        if teacher is not None:
            # One handle per environment, so that closing an environment disconnects only itself.
            env = TeacherWrapper(env, teacher.handle(str(getattr(context, "worker_index", 0))))
        return JudgedSteps(VectorObservation(env))


def _plain(info: Mapping[str, Any]) -> dict[str, Any]:
    return {name: info[name] for name in _KEPT if info.get(name) is not None}
