"""Environments to evaluate on, given as an id, an environment, or a function that makes one."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec

from ...envs.param_env import as_task_env, make_task_env
from ...envs.registration import unknown_environment
from ...errors import InputError
from ..history import HistoryWrapper
from ..prompt_form import add_prompt_form
from ..shots import ShotsWrapper


def environment_spec(env_id: str) -> EnvSpec:
    """Return the Gymnasium spec of an id, or of ``"module:id"`` after importing the module.

    Raises:
        InputError: there is no such id; the message suggests the closest ones.
    """
    module, _, name = env_id.rpartition(":")
    if module:
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise InputError(f"the module {module!r} of environment {env_id!r} cannot be imported: {error}.") from error
    try:
        return gym.spec(name)
    except gym.error.Error:
        raise unknown_environment(name) from None


def names_no_folder(env_id: str) -> bool:
    """Return True if a text has the form of a path rather than of an id, and the path does not exist."""
    namespace, slash, _ = env_id.partition("/")
    known = {name.partition("/")[0] for name in gym.registry if "/" in name}
    is_path = bool(slash) and ":" not in env_id and namespace not in known and not re.search(r"-v\d+$", env_id)
    return is_path and not Path(env_id).exists()


def name_of(env: gym.Env[Any, Any]) -> str:
    return env.spec.id if env.spec is not None else type(env.unwrapped).__name__


def _spec_of(env: gym.Env[Any, Any], kwargs: dict[str, Any]) -> EnvSpec:
    """Return the spec of an existing environment, including its wrappers. Its split is added to ``kwargs``, unless they
    have one. Raises InputError if the environment cannot be made again from a spec."""
    spec = env.spec
    missing = [wrapper.name for wrapper in spec.additional_wrappers if wrapper.kwargs is None] if spec else []
    if spec is None or missing:
        why = f"the wrapper {missing[0]} does not record its arguments" if missing else "it has no spec"
        raise InputError(
            f"copies of {type(env.unwrapped).__name__} cannot be made, as {why}; give a function that makes the "
            "environment, such as lambda: MyWrapper(gymnasium.make('me/Env-v0'))."
        )
    if "split" in spec.kwargs:
        kwargs.setdefault("split", spec.kwargs["split"])
    return spec


def make_envs(
    env: str | gym.Env[Any, Any] | Callable[[], gym.Env[Any, Any]],
    count: int,
    split: str,
    kwargs: dict[str, Any],
    history: str | None = None,
    pictures: bool = False,
    shots: int = 0,
    prompt_form: str | None = None,
) -> tuple[list[gym.Env], str | None]:
    """Make ``count`` environments for an evaluation.

    Args:
        env: an id, an environment to copy, or a function that makes one.
        count: number of environments.
        split: split of the tasks, unless ``kwargs`` has one.
        kwargs: options of the environment; must be empty for a function.
        history: argument of `HistoryWrapper`, or None.
        pictures: True sets the render mode "rgb_array" if the environment has it.
        shots: number of worked examples, see `ShotsWrapper`; 0 for none.
        prompt_form: prompt form of the agent (`Agent.prompt_form`); not applied to environments made by a function.

    Returns:
        The environments and their split; None for environments without splits.
    """
    if not isinstance(env, str | gym.Env):
        if not callable(env):
            raise InputError(f"env must be an id, an environment or a function that makes one, not {env!r}.")
        if kwargs:
            raise InputError(f"env_kwargs are for an id or an environment; let the function take {sorted(kwargs)}.")
        if shots:
            raise InputError(
                f"{shots} worked examples need an environment with splits; give its id, or leave shots out."
            )
        plain = (as_task_env(env(), split=split) for _ in range(count))
        made: list[gym.Env] = [HistoryWrapper(one, history) if history else one for one in plain]
        return made, getattr(made[0].unwrapped, "split", None)
    spec = environment_spec(env) if isinstance(env, str) else _spec_of(env, kwargs)
    kwargs = add_prompt_form(spec, kwargs, prompt_form)

    def make(**more: Any) -> gym.Env:
        # Gymnasium's environment checker is for authors of environments and would cost time at every step.
        one = make_task_env(spec, **{**kwargs, **more})
        if shots:
            source = {**kwargs, **more, "split": "train"}
            one = ShotsWrapper(one, shots, lambda: gym.make(spec, disable_env_checker=True, **source))
        return HistoryWrapper(one, history) if history else one

    first = make()
    if pictures and "render_mode" not in kwargs and "rgb_array" in first.metadata.get("render_modes", []):
        kwargs["render_mode"] = "rgb_array"
        first.close()
        first = make()
    if getattr(first.unwrapped, "param_space", None) is None:
        if shots:
            raise InputError(f"{shots} worked examples need an environment with splits; leave --shots out.")
        return [first, *(make() for _ in range(count - 1))], None
    first.close()
    split = kwargs.pop("split", split)
    return [make(split=split) for _ in range(count)], split
