"""Threads for the steps of environments that run programs.

Such a step waits for a sandbox, so many steps run concurrently, each in a separate thread.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import gymnasium as gym

AT_ONCE = 32
"""Steps that run at a time."""


def threads_for(env: gym.Env[Any, Any]) -> ThreadPoolExecutor | None:
    """Make threads to step environments like this one in; None when the steps do not wait for a sandbox."""
    if getattr(env.unwrapped, "needs_sandbox", False):
        return ThreadPoolExecutor(AT_ONCE, thread_name_prefix="step")
    return None
