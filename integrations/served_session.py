"""`ServedSession`: the episodes of one connection, played in a separate thread, with plain data in and out.

Environments may be bound to the thread that made them, and may hang, so every connection has a thread. The observation
holds everything that the player may see; the state holds the measurements (reward terms, validity, the task). The
extras (``info["extras"]``), which hold solutions, are never sent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

import gymnasium as gym

from ..envs.registration import make_registered
from ..errors import InputError, shorten
from .action_tools import write_action
from .core import as_plain

RESET_NAMES = ("seed", "episode_id", "env", "difficulty", "params", "split", "axes")


class ServedSession:
    """Session that plays episodes of the offered environments.

    Args:
        offered: ids of environments; the first one is played unless a reset names another.
        kwargs: arguments of the environments, such as ``{"difficulty": 0.3}``; a reset may set the axes and the split
            if they are not in ``kwargs``.
    """

    def __init__(self, offered: Sequence[str], kwargs: Mapping[str, Any]):
        self._offered, self._kwargs = list(offered), dict(kwargs)
        self._made: tuple[str, dict[str, Any]] | None = None
        self._env: gym.Env[Any, Any] | None = None
        self._state: dict[str, Any] = {"episode_id": None, "step_count": 0}
        self._running = False

    def reset(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Begin an episode and return its first observation.

        Args:
            data: any of `RESET_NAMES`: the seed, the client's id for the episode, the environment's id, its difficulty
                and params, and its split and axes, which create a new environment.

        Raises:
            InputError: a name or a value does not fit; the message is meant for the client.
        """
        if unknown := sorted(set(data) - set(RESET_NAMES)):
            raise InputError(f"a reset takes {', '.join(RESET_NAMES)}, not {', '.join(map(repr, unknown))}.")
        seed = data.get("seed")
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63):
            raise InputError(f"seed must be a whole number from 0 to 2**63 - 1, not {shorten(repr(seed))}.")
        env_id = data.get("env") or self._offered[0]
        if env_id not in self._offered:
            raise InputError(f"{shorten(repr(env_id))} is not served here; there are {', '.join(self._offered)}.")
        options = {name: data[name] for name in ("difficulty", "params") if data.get(name) is not None}
        wanted = {name: data[name] for name in ("split", "axes") if data.get(name) is not None}
        asked = {*wanted, *options} | ({"difficulty"} if "params" in options else set())
        if fixed := sorted(asked & set(self._kwargs)):
            raise InputError(f"the {', '.join(fixed)} is fixed by this server; leave it, and params, out of the reset.")
        self._running = False
        env = self._make(env_id, {**self._kwargs, **wanted})
        observation, info = env.reset(seed=seed, options=options or None)
        self._running = True
        self._state = {
            "episode_id": str(data.get("episode_id") or uuid4()),
            "step_count": 0,
            "env": env_id,
            "seed": seed,
            "return": 0.0,
            "reward_terms": {},
            "reward_valid": True,
            "is_success": False,
            "progress": 0.0,
            "terminated": False,
            "truncated": False,
            **{name: as_plain(info[name]) for name in ("task_id", "params", "difficulty") if name in info},
        }
        return {"observation": _observe(observation, None, False, False), "reward": None, "done": False}

    def step(self, action: Mapping[str, Any]) -> dict[str, Any]:
        """Take an action: ``{"action": ...}``, or a call of one of the environment's functions, ``{"name": ...,
        "arguments": {...}}``.

        Raises:
            InputError: no episode is running, or the action has another form.
        """
        if not self._running or self._env is None:
            raise InputError("no episode is running; send a reset first.")
        read = self._read(action)
        try:
            observation, reward, terminated, truncated, info = self._env.step(read)
        except InputError as error:  # a fault of the environment, as actions must never raise
            raise RuntimeError(str(error)) from error
        if not math.isfinite(reward):
            raise ValueError(f"the environment gave the reward {reward}")
        state, valid = self._state, bool(info.get("reward_valid", True))
        state["step_count"] += 1
        state["return"] += float(reward)
        state["reward_terms"] = {name: float(value) for name, value in (info.get("reward_terms") or {}).items()}
        state["reward_valid"] = state["reward_valid"] and valid
        state["is_success"], state["progress"] = bool(info.get("is_success")), float(info.get("progress") or 0.0)
        state["terminated"], state["truncated"] = bool(terminated), bool(truncated)
        self._running = not (terminated or truncated)
        return {
            "observation": _observe(observation, info.get("action_error"), terminated, truncated),
            # A failure of the machinery is not a reward of 0.
            "reward": float(reward) if valid else None,
            "done": bool(terminated or truncated),
        }

    def state(self) -> dict[str, Any]:
        """Return the state of the episode: the task and the measurements, never the solution."""
        return as_plain(self._state)

    def fail(self) -> None:
        """Discard the environment after an exception in it; the next reset makes a new one."""
        self._state["reward_valid"], self._running = False, False
        env, self._env, self._made = self._env, None, None
        if env is not None:
            env.close()

    def close(self) -> None:
        if self._env is not None:
            self._env.close()

    def _make(self, env_id: str, kwargs: dict[str, Any]) -> gym.Env[Any, Any]:
        if self._env is not None and self._made == (env_id, kwargs):
            return self._env
        self.close()
        self._env = self._made = None
        try:
            self._env = make_registered(env_id, **kwargs)
        except TypeError as error:
            raise InputError(f"{env_id} cannot be made with {shorten(repr(kwargs))}: {error}") from None
        self._made = env_id, kwargs
        return self._env

    def _read(self, action: Mapping[str, Any]) -> Any:
        env = self._env
        assert env is not None
        if set(action) == {"action"}:
            return action["action"]
        if set(action) <= {"name", "arguments"} and isinstance(action.get("name"), str):
            arguments = action.get("arguments") or {}
            if isinstance(arguments, Mapping):
                return write_action(env, action["name"], arguments)
        form = '{"action": text} or {"name": function, "arguments": {...}}'
        raise InputError(f"an action is {form}, not {shorten(repr(dict(action)))}.")


def _observe(observation: Any, error: str | None, terminated: bool, truncated: bool) -> dict[str, Any]:
    seen = {"text": observation} if isinstance(observation, str) else {"value": as_plain(observation)}
    return {**seen, "action_error": error, "terminated": bool(terminated), "truncated": bool(truncated)}
