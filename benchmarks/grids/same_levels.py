"""Steps per second on the levels of each of MiniGrid's ids, ours and MiniGrid's.

Both sides play the same levels, drawn by MiniGrid's generator, under the same random actions, and are measured
alternately in CPU time of one core. Only steps are timed, since the resets are the same work on both sides.
"""

from __future__ import annotations

import statistics
import warnings
from dataclasses import dataclass
from typing import Any

import gymnasium as gym

from ...envs.grids.minigrid_ids import MINIGRID_IDS
from ...errors import InputError, MissingExtra
from ..harness import require
from .speed import compare_steps, tabulate_ratios


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
        return f"{said}\n\n{tabulate_ratios(self.minigrid, self.rows)}"

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
        rows.append(compare_steps(name, ours, theirs, rounds, steps, with_resets=False))
    return SameLevelFigures(getattr(minigrid, "__version__", ""), rows, left_out)
