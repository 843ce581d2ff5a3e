"""``palaestra bench grids``: speed of gridworlds compared with MiniGrid's, and learning with different bonuses.

The table "speed" compares steps per second with MiniGrid's for the same level sizes, and has descriptions per second of
the text environments; "same-levels" compares steps per second on the levels of each of MiniGrid's ids. The other tables
train students, some minutes to a quarter of an hour per seed and player, and report the steps until they succeed, and
held-out success at the end. Each run is a folder under --out, for `palaestra report` and `palaestra view`; the same
command given again continues interrupted runs.

examples:
  palaestra bench grids
  palaestra bench grids --rounds 7 --steps 8000 --markdown table.md --json grids.json
  palaestra bench grids --tables same-levels --rounds 3 --steps 1000
  palaestra bench grids --tables subgoals --seeds 5 --out runs/grids
  palaestra bench grids --tables noisy-tv deceptive-maze --seeds 3 --out runs/grids --json students.json
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...agents.atomic import write_atomically
from ...checks import check_count
from ...errors import InputError
from ..harness import check_names, read_options, write_json
from .learning import LEARNING_TABLES, measure_learning
from .same_levels import measure_same_levels
from .speed import measure_speed

SPEED, SAME = "speed", "same-levels"


@dataclass(frozen=True)
class GridBenchOptions:
    tables: tuple[str, ...] = (SPEED,)
    """Tables: speed, same-levels, subgoals, noisy-tv, deceptive-maze."""
    rounds: int = 5
    """Tables of speed: number of measurements of each side."""
    steps: int = 4000
    """Tables of speed: steps of one measurement."""
    seeds: int = 5
    """Tables of students: runs of each player, with seeds 0, 1, ..."""
    out: Path = Path("runs/grids")
    """Tables of students: parent folder of the runs."""
    players: tuple[str, ...] = ()
    """Tables of students: only these players, such as none and subgoals. (default: all)"""
    longest: int | None = None
    """Tables of students: largest number of environment steps of a run, in place of the table's."""
    markdown: Path | None = None
    """Write the tables here as Markdown."""
    json: Path | None = None
    """Write the figures here as JSON."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    options = read_options(GridBenchOptions, "grids", argv, __doc__)
    check_names("table of gridworlds", options.tables, (SPEED, SAME, *LEARNING_TABLES))
    if options.rounds < 1 or options.steps < 100:
        raise InputError(
            f"--rounds must be at least 1 and --steps at least 100, not {options.rounds} and {options.steps}."
        )
    check_count("seeds", options.seeds, 1)
    if options.longest is not None:
        check_count("longest", options.longest, 1)
    texts, figures = [], {}
    for name in options.tables:
        found: Any
        if name in (SPEED, SAME):
            measure = measure_speed if name == SPEED else measure_same_levels
            found = measure(options.rounds, options.steps)
        else:
            table = LEARNING_TABLES[name]
            found = measure_learning(table, options.seeds, options.out / name, options.players, options.longest)
        texts.append(found.tabulate())
        figures[name] = found.to_json()
        print(texts[-1], end="\n\n")
    if options.markdown is not None:
        write_atomically(options.markdown, "\n\n".join(texts) + "\n")
    write_json(options.json, figures)
    return 0
