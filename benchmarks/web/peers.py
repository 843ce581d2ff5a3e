"""Timed random episodes of BrowserGym on MiniWoB++: a file for `peer_server` that imports nothing of this package.

{"chromium": "/usr/bin/chromium", "task": "click-test", "seconds": 10.0, "first": 0}
{"resets": 9, "resetting": 5.1, "steps": 31, "stepping": 17.5}
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import importlib.util
import json
import os
import re
import time
from pathlib import Path

import numpy as np


def find_installed() -> dict[str, str]:
    """Return the version of BrowserGym with MiniWoB++, and the address of the pages that it plays."""
    found = {}
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        found["browsergym-miniwob"] = importlib.metadata.version("browsergym-miniwob")
        found["miniwob pages"] = find_pages()
    return found


def find_pages() -> str:
    """Return the address of MiniWoB++'s pages: $MINIWOB_URL, or the pages of the package `miniwob`; "" without both."""
    if address := os.environ.get("MINIWOB_URL"):
        return address
    spec = importlib.util.find_spec("miniwob")
    folder = Path(spec.origin).parent / "html" / "miniwob" if spec is not None and spec.origin else None
    return f"{folder.as_uri()}/" if folder is not None and folder.is_dir() else ""


def answer(chromium: str, task: str, seconds: float, first: int) -> dict[str, float]:
    """Play random episodes for ``seconds`` of wall time, as the browser is another process; return counts and times."""
    os.environ["MINIWOB_URL"] = find_pages()
    importlib.import_module("browsergym.miniwob")
    gym = importlib.import_module("gymnasium")
    env = gym.make(
        f"browsergym/miniwob.{task}",
        disable_env_checker=True,
        pw_chromium_kwargs={"executable_path": chromium, "chromium_sandbox": False},
    )
    rng, clock = np.random.default_rng(first), time.perf_counter
    counts = {"resets": 0, "resetting": 0.0, "steps": 0, "stepping": 0.0}
    seed = first
    try:
        while counts["resetting"] + counts["stepping"] < seconds or not counts["steps"]:
            begun = clock()
            observation, _ = env.reset(seed=seed)
            counts["resetting"] += clock() - begun
            counts["resets"] += 1
            seed += 1
            for _ in range(10):
                controls = re.findall(r'"(\w+)"', json.dumps([*observation["extra_element_properties"]])) or ["0"]
                begun = clock()
                observation, _, terminated, truncated, _ = env.step(f"click('{controls[rng.integers(len(controls))]}')")
                counts["stepping"] += clock() - begun
                counts["steps"] += 1
                if terminated or truncated:
                    break
    finally:
        env.close()
    return counts
