"""Steps of environments that run programs: they wait for a sandbox, so many are made at a time, each in a thread."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import gymnasium as gym

AT_ONCE = 32


def threads_for(env: gym.Env[Any, Any]) -> ThreadPoolExecutor | None:
    """Threads in which this environment and others of its kind are to be stepped; None where that gains nothing."""
    if getattr(env.unwrapped, "needs_sandbox", False):
        return ThreadPoolExecutor(AT_ONCE, thread_name_prefix="step")
    return None
