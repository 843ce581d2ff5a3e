"""Environment and levels of a student's run, from its configuration."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import load_env_creator

from ...errors import InputError
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
    spec = environment_spec(env_id)
    entry = load_env_creator(spec.entry_point) if isinstance(spec.entry_point, str) else spec.entry_point
    if hasattr(entry, "param_space"):
        options["split"] = split
    elif "axes" in options:
        raise InputError(f"{env_id!r} has no axes; leave --axis out.")
    return gym.make(spec, disable_env_checker=True, **options)


def level_seeds(config: StudentConfig) -> list[int]:
    """Return the seeds of a run's fixed levels, derived from the run's seed; [] if every episode is a new level."""
    return [int(seed) for seed in np.random.SeedSequence([config.seed, _LEVELS]).generate_state(config.levels)]
