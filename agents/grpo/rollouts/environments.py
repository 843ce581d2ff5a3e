"""Pool of environments of one id, and functions to reset, save and restore an environment.

An environment taken from the pool has one user until it is given back. An environment that raises an exception, which
is never the agent's fault, is dropped instead of being given back.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import gymnasium

from ....errors import InputError
from ....teachers import range_options
from ...history import HistoryWrapper
from ...sandbox_threads import threads_for
from ...shots import ShotsWrapper
from .environment_processes import EnvironmentProcesses
from .environment_workers import EnvironmentWorkers


class Environments:
    """Environments of one id, created on demand and reused; actions and observations must be text.

    Args:
        history: view of a long episode, see `HistoryWrapper`; None: the whole episode.
        processes: processes that run the environments; None: this process.
        shots: number of worked examples before each question, see `ShotsWrapper`; 0: none.
        kwargs: arguments of the environment.

    Raises:
        InputError: the id's actions are not text, the history is unknown, or no examples can be shown.
    """

    def __init__(
        self,
        env_id: str,
        history: str | None = None,
        processes: EnvironmentProcesses | None = None,
        shots: int = 0,
        **kwargs: Any,
    ):
        self._id, self._history, self._kwargs, self._processes = env_id, history, kwargs, processes
        self._shots = shots
        self._free: list[gymnasium.Env[Any, Any]] = []
        first = self.take()
        space = type(first.unwrapped.action_space).__name__
        if space != "Unicode":
            ways = ["train a student of arrays on it with --learner ppo"] if space in ("Discrete", "Box") else []
            twin = re.sub(r"(?=-v\d+$)", "Text", env_id.rpartition(":")[2])
            known = twin in gymnasium.registry
            ways.append(f"take its twin in text, {twin}" if known else "choose an id with text actions")
            raise InputError(f"{env_id!r} takes actions from {space}, not text; {', or '.join(ways)}.")
        self.param_space: Any = first.unwrapped.param_space  # type: ignore[attr-defined]
        # Options that a teacher of these tasks gets; see `teachers.range_options`.
        self.range_options = range_options(first)
        # Names of the extras (`info["extras"]`) that rewards can read.
        self.supplies = frozenset(getattr(first.unwrapped, "supplies", ()))
        # The thread pool that steps the environments; None steps them in this thread.
        self.threads = threads_for(first)
        if self.threads is None and processes is not None:
            self.threads = ThreadPoolExecutor(processes.count, thread_name_prefix="step")
        # Workers that reset and step the environments while the sampler decodes; None: `threads` applies.
        self.workers: EnvironmentWorkers | None = None
        self.give_back(first)

    @property
    def families(self) -> tuple[str, ...]:
        """Names of the environments of a mixture; () for any other id."""
        return tuple(getattr(self.param_space, "families", ()))

    @property
    def spaces(self) -> tuple[Any, ...]:
        """Parameter spaces: one per environment of a mixture, else one."""
        return tuple(getattr(self.param_space, "families", {"": self.param_space}).values())

    def set_progress(self, step: int, steps: int) -> None:
        """Report to a mixture that ``step`` of ``steps`` updates are done; its weights may depend on this."""
        if self.families:
            self.param_space.set_progress(step, steps)

    def take(self) -> gymnasium.Env[Any, Any]:
        """Take a free environment; make a new one if all are in use."""
        with contextlib.suppress(IndexError):  # a check beforehand would be a race with other threads
            return self._free.pop()
        env: gymnasium.Env[Any, Any]
        if self._processes is None:
            env = gymnasium.make(self._id, disable_env_checker=True, **self._kwargs)
        else:
            env = self._processes.environment(self._id, self._kwargs)
        if self._shots:
            source = {**self._kwargs, "split": "train"}
            env = ShotsWrapper(env, self._shots, lambda: gymnasium.make(self._id, disable_env_checker=True, **source))
        return HistoryWrapper(env, self._history) if self._history else env

    def give_back(self, env: gymnasium.Env[Any, Any]) -> None:
        """Return an environment to the pool."""
        self._free.append(env)


def begin(env: gymnasium.Env[Any, Any], seed: int, params: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Reset to the task instance of a seed and parameters; return the first observation and its info."""
    return env.reset(seed=seed, options={"params": dict(params)})


def snapshot(env: gymnasium.Env[Any, Any]) -> Any:
    """Return the state of the episode, for `restore`.

    Raises:
        InputError: the environment has no ``get_state``.
    """
    if not env.has_wrapper_attr("get_state"):
        raise InputError(
            f"{type(env.unwrapped).__name__} has no get_state(); strategies that branch need one, choose another "
            "rollout."
        )
    return env.get_wrapper_attr("get_state")()


def restore(env: gymnasium.Env[Any, Any], state: Any, seed: int, params: Mapping[str, Any]) -> None:
    """Set an environment to a `snapshot` taken from any environment of the same id."""
    # Gymnasium's wrapper refuses to step before the first reset; later resets are skipped, as they can be slow.
    if env.has_wrapper_attr("has_reset") and not env.get_wrapper_attr("has_reset"):
        begin(env, seed, params)
    env.get_wrapper_attr("set_state")(state)
