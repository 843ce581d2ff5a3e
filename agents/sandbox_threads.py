"""Threads for the steps of environments that run programs.

A step that runs a program waits for a sandbox; steps of several environments therefore run concurrently in threads.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import gymnasium as gym

AT_ONCE = 32
"""Most steps that run at the same time."""


def threads_for(env: gym.Env[Any, Any]) -> ThreadPoolExecutor | None:
    """Make a pool of `AT_ONCE` threads for the steps of environments like ``env``; None if they need no sandbox."""
    if getattr(env.unwrapped, "needs_sandbox", False):
        return ThreadPoolExecutor(AT_ONCE, thread_name_prefix="step")
    return None
