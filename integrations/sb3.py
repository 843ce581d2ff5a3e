"""Stable-Baselines3 under a teacher that chooses the tasks, on gridworlds and on any environment with parameters.

    from palaestra.integrations.sb3 import curriculum_env, success_rate
    from stable_baselines3 import PPO

    env = curriculum_env("palaestra/LavaGap-v0", "alp-gmm", seed=0)
    model = PPO("MlpPolicy", env, n_steps=256, seed=0, device="cpu")
    model.learn(total_timesteps=2_000)
    print(env.get_wrapper_attr("teacher").metrics())
    print(success_rate(model, "palaestra/LavaGap-v0", episodes=20, difficulty=0))

Without a curriculum, `as_arrays` is all that a gridworld needs: ``PPO("MlpPolicy", as_arrays(gym.make(...)))``. Any
algorithm of Stable-Baselines3 works, and any other learner of Gymnasium environments with array observations.
Environments in text have no array observations; language models play them. An environment of another package gets
parameters by `palaestra.envs.ParamEnv`:

    cart = ParamEnv("CartPole-v1", [FloatAxis("gravity", 5, 20)], return_range=(0, 500), success=475)
    env = curriculum_env(cart, "alp-gmm")
    print(success_rate(model, cart, difficulty=1))
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from ..checks import check_count
from ..envs.param_env import as_task_env
from ..errors import InputError
from ..teachers import ServedTeacher, Teacher, TeacherHandle, TeacherWrapper
from ..teachers.students.ppo import VectorObservation
from .core import make_array_env


def curriculum_env(
    env: str | gym.Env[Any, Any], teacher: str | Teacher | ServedTeacher | TeacherHandle, seed: int = 0, **kwargs: Any
) -> gym.Env[Any, Any]:
    """Make an environment whose tasks a teacher chooses, with observations as one array; see `as_arrays`.

    ``env.get_wrapper_attr("teacher")`` is the teacher. For several processes (``SubprocVecEnv``) pass a served teacher:
    ``with palaestra.teachers.serve(teacher) as served``.

    Args:
        env: an environment with arrays or numbers as observations, or the id of one, such as palaestra/DoorKey-v0.
        teacher: a registered name, a teacher, or a served teacher.
        seed: seed of a teacher given by name.
        **kwargs: arguments of an environment given by its id.

    Raises:
        InputError: an unknown environment or teacher, or an environment that is played in text.
    """
    made = _make(env, kwargs)
    return as_arrays(
        TeacherWrapper(made, teacher, seed=seed) if isinstance(teacher, str) else TeacherWrapper(made, teacher)
    )


def success_rate(
    model: Any,
    env: str | gym.Env[Any, Any],
    episodes: int = 100,
    seed: int = 0,
    split: str = "test",
    deterministic: bool = True,
    **kwargs: Any,
) -> float:
    """Return the share of episodes that a model solves, without a teacher.

    Args:
        model: an object with ``predict(observation, deterministic=...)``, such as a model of Stable-Baselines3.
        env: an environment without a teacher, or the id of one.
        episodes: number of episodes, at least 1; episode i has the seed ``seed`` + i.
        seed: seed of the first episode.
        split: "train", "test" or "all", for an environment given by its id.
        deterministic: take the most probable actions; otherwise draw them with the model's own generator.
        **kwargs: arguments of an environment given by its id, or options of the resets of a given environment, such as
            ``difficulty=0.3``.

    Raises:
        InputError: as for `curriculum_env`, or the environment does not say what a success is.
    """
    check_count("episodes", episodes, 1)
    is_id = isinstance(env, str)
    made = _make(env, {**kwargs, "split": split} if is_id else {})
    played, options = as_arrays(as_task_env(made)), None if is_id else kwargs
    solved = 0
    for episode in range(seed, seed + episodes):
        observation, _ = played.reset(seed=episode, options=options or None)
        over, info = False, {}
        while not over:
            action, _ = model.predict(observation, deterministic=deterministic)
            one = action.item() if np.ndim(action) == 0 and hasattr(action, "item") else action
            observation, _, terminated, truncated, info = played.step(one)
            over = terminated or truncated
        if "is_success" not in info:
            raise InputError(f"{played.unwrapped} does not say what a success is; give ParamEnv a success=, a return.")
        solved += bool(info["is_success"])
    if is_id:
        played.close()
    return solved / episodes


def _make(env: str | gym.Env[Any, Any], kwargs: Mapping[str, Any]) -> gym.Env[Any, Any]:
    if isinstance(env, str):
        return make_array_env(env, kwargs)
    if kwargs:
        raise InputError(f"{', '.join(kwargs)} must be given to {env} itself, where it is made.")
    return env


def as_arrays(env: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
    """Return the environment with observations as one array. A vector without bounds stays as it is; everything else
    becomes float32 in [0, 1], and text beside it, such as the mission of a gridworld, is left out.

    Raises:
        InputError: the observations have only text, or another part without bounds.
    """
    space = env.observation_space
    is_open = isinstance(space, gym.spaces.Box) and len(space.shape) == 1 and not space.is_bounded()
    return env if is_open else VectorObservation(env)
