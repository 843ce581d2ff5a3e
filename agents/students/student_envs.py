"""Environment and levels of a student's run, from its configuration."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from ...envs.param_env import make_task_env
from ..evaluation import environment_spec
from .student_config import StudentConfig

_LEVELS = 6


def environment_of_run(config: StudentConfig) -> tuple[str, dict[str, Any]]:
    """Return the id and the options of the environment of a run."""
    return config.env, {**({"axes": config.axes} if config.axes else {}), **config.env_options}


def make_environment(config: StudentConfig, split: str) -> gym.Env[Any, Any]:
    """Make the environment of a run; ``split`` is ignored for environments without splits.

    Raises:
        InputError: the environment is unknown, or has no axes and the configuration restricts some.
    """
    env_id, options = environment_of_run(config)
    return make_task_env(environment_spec(env_id), **options, split=split)


def level_seeds(config: StudentConfig) -> list[int]:
    """Return the seeds of a run's fixed levels, derived from the run's seed; [] if every episode is a new level."""
    return [int(seed) for seed in np.random.SeedSequence([config.seed, _LEVELS]).generate_state(config.levels)]
