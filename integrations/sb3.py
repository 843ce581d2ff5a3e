"""Stable-Baselines3 on gridworlds, with a teacher that chooses the levels.

    from palaestra.integrations.sb3 import curriculum_env, success_rate
    from stable_baselines3 import PPO

    env = curriculum_env("palaestra/LavaGap-v0", "alp-gmm", seed=0)
    model = PPO("MlpPolicy", env, n_steps=256, seed=0, device="cpu")
    model.learn(total_timesteps=2_000)
    print(env.get_wrapper_attr("teacher").metrics())
    print(success_rate(model, "palaestra/LavaGap-v0", episodes=20, difficulty=0))

Any algorithm of Stable-Baselines3 works, and any other learner of Gymnasium environments with array observations.
Environments in text have no array observations; language models play them.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from ..checks import check_count
from ..teachers import ServedTeacher, Teacher, TeacherHandle, TeacherWrapper
from ..teachers.students.ppo import VectorObservation
from .core import make_array_env


def curriculum_env(
    env_id: str, teacher: str | Teacher | ServedTeacher | TeacherHandle, seed: int = 0, **kwargs: Any
) -> gym.Env[Any, Any]:
    """Make an environment whose levels a teacher chooses, with observations as one array of float32 in [0, 1].

    ``env.get_wrapper_attr("teacher")`` is the teacher. For several processes (``SubprocVecEnv``) pass a served teacher:
    ``with palaestra.teachers.serve(teacher) as served``.

    Args:
        env_id: an environment with arrays or numbers as observations, such as palaestra/DoorKey-v0.
        teacher: a registered name, a teacher, or a served teacher.
        seed: seed of a teacher given by name.
        **kwargs: arguments of the environment.

    Raises:
        InputError: an unknown environment or teacher, or an environment that is played in text.
    """
    env = make_array_env(env_id, kwargs)
    return VectorObservation(
        TeacherWrapper(env, teacher, seed=seed) if isinstance(teacher, str) else TeacherWrapper(env, teacher)
    )


def success_rate(
    model: Any,
    env_id: str,
    episodes: int = 100,
    seed: int = 0,
    split: str = "test",
    deterministic: bool = True,
    **kwargs: Any,
) -> float:
    """Return the share of episodes that a model solves, without a teacher.

    Args:
        model: an object with ``predict(observation, deterministic=...)``, such as a model of Stable-Baselines3.
        env_id: as for `curriculum_env`.
        episodes: number of episodes, at least 1; episode i has the seed ``seed`` + i.
        seed: seed of the first episode.
        split: "train", "test" or "all".
        deterministic: take the most probable actions; otherwise draw them with the model's own generator.
        **kwargs: arguments of the environment, such as ``difficulty=0.3``.

    Raises:
        InputError: as for `curriculum_env`.
    """
    check_count("episodes", episodes, 1)
    env = VectorObservation(make_array_env(env_id, {**kwargs, "split": split}))
    solved = 0
    for episode in range(seed, seed + episodes):
        observation, _ = env.reset(seed=episode)
        over, info = False, {}
        while not over:
            action, _ = model.predict(observation, deterministic=deterministic)
            observation, _, terminated, truncated, info = env.step(action.item() if hasattr(action, "item") else action)
            over = terminated or truncated
        solved += bool(info["is_success"])
    env.close()
    return solved / episodes
