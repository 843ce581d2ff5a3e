"""Steps per second on the levels of each of MiniGrid's ids, ours and MiniGrid's.

Both sides play the same levels, drawn by MiniGrid's generator, under the same random actions, and are measured
alternately in CPU time of one core. Only steps are timed, since the resets are the same work on both sides.
"""

from __future__ import annotations

import contextlib
import io
import statistics
import time
import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

from ...envs.grids.minigrid_ids import MINIGRID_IDS
from ...errors import InputError, MissingExtra
from ..harness import Side, Spread, compare, format_markdown, require


@dataclass(frozen=True)
class SameLevelFigures:
    """Result of `measure_same_levels`.

    Attributes:
        minigrid: version of MiniGrid.
        rows: for each id, the median steps per second of each side ("ours", "theirs") and the median of their "ratio".
        left_out: ids whose levels this installation of MiniGrid cannot draw.
    """

    minigrid: str
    rows: list[dict[str, Any]]
    left_out: list[str]

    def tabulate(self) -> str:
        """Return a table in Markdown, below a line with the least and the median ratio."""
        ratios = sorted(row["ratio"] for row in self.rows)
        least, middle = ratios[0], statistics.median(ratios)
        said = f"{len(ratios)} ids: {least:.1f} times MiniGrid's steps per second at least, {middle:.1f} in the median."
        if self.left_out:
            said += f" Without {', '.join(self.left_out)}, whose levels this installation of MiniGrid cannot draw."
        rows = [(row["id"], f"{row['ours']:,.0f}", f"{row['theirs']:,.0f}", f"{row['ratio']:.1f}") for row in self.rows]
        head = (f"MiniGrid {self.minigrid} id", "ours, steps/s", "MiniGrid, steps/s", "ratio")
        return f"{said}\n\n{format_markdown(head, rows)}"

    def to_json(self) -> dict[str, Any]:
        return {"minigrid": self.minigrid, "steps_per_second": self.rows, "left_out": self.left_out}


def measure_same_levels(rounds: int, steps: int) -> SameLevelFigures:
    """Measure both sides alternately on each id.

    Args:
        rounds: number of measurements of each side.
        steps: number of steps in one measurement.

    Raises:
        MissingExtra: MiniGrid is not installed.
    """
    require("palaestra bench grids", "grid", "minigrid")
    import minigrid

    rows, left_out = [], []
    for name, (family, _) in MINIGRID_IDS.items():
        try:
            ours = gym.make(f"palaestra/{family}-v0", disable_env_checker=True, minigrid=name, split="all")
        except (MissingExtra, InputError):
            left_out.append(name)
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of ids with a later version
            theirs = gym.make(name, disable_env_checker=True)
        sides = [Side(side, partial(_step_rate, env, steps)) for side, env in (("ours", ours), ("theirs", theirs))]
        rates = compare(sides, rounds)
        ratio = Spread.of_ratios(rates["ours"], rates["theirs"]).median
        rows.append({"id": name, **{side: statistics.median(found) for side, found in rates.items()}, "ratio": ratio})
    return SameLevelFigures(getattr(minigrid, "__version__", ""), rows, left_out)


def _step_rate(env: gym.Env[Any, Any], steps: int, seed: int) -> float:
    space: Any = env.action_space
    actions = np.random.default_rng(seed).integers(space.n, size=steps).tolist()
    taken = 0.0
    with contextlib.redirect_stdout(io.StringIO()):  # BabyAI's resets print rejected levels
        env.reset(seed=seed)
        begun = time.process_time()
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                taken += time.process_time() - begun
                env.reset()
                begun = time.process_time()
    return steps / (taken + time.process_time() - begun)
