"""Training of students of gridworlds with different bonuses and learners: steps until success, and held-out success.

A player has learned at the first environment step from which `HELD` iterations in a row have a success rate of at least
`SHARE`. The player's run ends there, unless the table asks for runs of full length.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...agents.atomic import write_atomically
from ...agents.grpo.run.folder import RunFolder, is_run, refuse_changes
from ...agents.learners import LEARNERS
from ...errors import InputError
from ..harness import check_names, format_markdown, read_lines

SHARE, HELD = 0.9, 5


@dataclass(frozen=True)
class GridPlayer:
    """A learner, and the settings that differ from the learner's defaults."""

    learner: str = "ppo"
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class LearningTable:
    """Players of one gridworld.

    Attributes:
        name: name of the table.
        env: id of the environment.
        axes: fixed values or ranges of the environment's axes.
        steps: largest number of environment steps of a run.
        players: name -> player; the first is the baseline of the comparison.
        whole: continue to the last step even after the player has learned.
    """

    name: str
    env: str
    axes: Mapping[str, Any]
    steps: int
    players: Mapping[str, GridPlayer]
    whole: bool = False


def _with_bonus(text: str, **settings: Any) -> GridPlayer:
    return GridPlayer(settings={"bonus": (text,), **settings})


LEARNING_TABLES: dict[str, LearningTable] = {
    table.name: table
    for table in (
        LearningTable(
            "subgoals",
            "palaestra/DoorKey-v0",
            {"size": 8, "obstacles": 0},
            2_000_000,
            {
                "none": GridPlayer(),
                "subgoals": _with_bonus("subgoals(bonus=0.3)"),
                "waypoints": _with_bonus("waypoints"),
                "potential": _with_bonus("potential"),
            },
        ),
        LearningTable(
            "noisy-tv",
            "palaestra/NoisyTV-v0",
            {"size": 13, "screens": 9, "channel": "remote"},
            400_000,
            {"none": GridPlayer(), "prediction": _with_bonus("prediction"), "hindsight": _with_bonus("hindsight")},
        ),
        LearningTable(
            "deceptive-maze",
            "palaestra/DeceptiveMaze-v0",
            {"pockets": 5, "depth": 10},
            500_000,
            {"count": _with_bonus("count", levels=1), "go-explore": GridPlayer("go-explore", {"levels": 1})},
            whole=True,
        ),
    )
}


@dataclass(frozen=True)
class GridRunFigures:
    """Figures of a run.

    Attributes:
        learned: the environment step at which the player had learned, or None.
        steps: number of environment steps taken.
        success: success on held-out levels after the last step.
        first: the environment step of the first iteration with a success in training, or None.
        trained: success in training in the last `HELD` iterations with episodes; None without episodes.
    """

    learned: int | None
    steps: int
    success: float
    first: int | None = None
    trained: float | None = None


@dataclass(frozen=True)
class LearningFigures:
    """The runs of a table, by player."""

    table: LearningTable
    runs: Mapping[str, Sequence[GridRunFigures]]

    def ratio(self, player: str) -> tuple[float, float, float, bool]:
        """Return how many times fewer steps a player takes to learn than the first player, as (geometric mean over
        seeds, low, high, bound): low and high end Welch's 95 % interval of the logarithms; bound is True if runs of the
        first player did not learn, so that the mean is a lower bound."""
        mine = [math.log(run.learned or run.steps) for run in self.runs[player]]
        first = [math.log(run.learned or run.steps) for run in self.runs[next(iter(self.runs))]]
        middle, half = _difference(first, mine)
        bound = any(run.learned is None for run in self.runs[next(iter(self.runs))])
        return math.exp(middle), math.exp(middle - half), math.exp(middle + half), bound

    def tabulate(self) -> str:
        """Return the table in Markdown."""
        table = self.table
        axes = " ".join(f"{name}={value}" for name, value in table.axes.items())
        first = next(iter(self.runs))
        seeds = len(self.runs[first])
        rows = []
        for player, runs in self.runs.items():
            steps = sorted(run.learned or math.inf for run in runs)
            middle = statistics.median_low(steps)
            span = "never" if math.isinf(steps[0]) else f"{_count(middle)} ({_count(steps[0])} to {_count(steps[-1])})"
            held_out = ", ".join(f"{100 * run.success:.0f}" for run in runs)
            trained = ", ".join("none" if run.trained is None else f"{100 * run.trained:.0f}" for run in runs)
            met = ", ".join(_count(run.first or math.inf) for run in runs)
            learned = sum(run.learned is not None for run in runs)
            fewer = ""
            if player != first and all(run.learned is not None for run in runs):
                ratio, low, high, bound = self.ratio(player)
                interval = f" [{low:.1f}, {high:.1f}]" if math.isfinite(high) else ""
                fewer = f"{'at least ' if bound else ''}{ratio:.1f}{interval}"
            rows.append((player, f"{learned} of {seeds}", span, fewer, met, trained, held_out))
        took = f"environment steps to {SHARE:.0%}: median (least to most)"
        ends = ("first success at step", "success in training at the end, %", "held-out success, %")
        head = ("player", "learned", took, f"times fewer than {first}", *ends)
        about = f"{table.env} {axes}, {seeds} seed{'s' * (seeds != 1)}, at most {table.steps:,} steps"
        return f"{about}\n\n{format_markdown(head, rows, align='l' * len(head))}"

    def to_json(self) -> dict[str, Any]:
        rows = {player: [vars(run) for run in runs] for player, runs in self.runs.items()}
        return {"env": self.table.env, "axes": dict(self.table.axes), "steps": self.table.steps, "runs": rows}


def _count(steps: float) -> str:
    return "never" if math.isinf(steps) else f"{steps:,.0f}"


def _difference(first: Sequence[float], second: Sequence[float]) -> tuple[float, float]:
    """Return the difference of two means, and half the width of its 95 % interval (infinite if each has one value)."""
    from scipy import stats

    middle = statistics.fmean(first) - statistics.fmean(second)
    if len(first) < 2:
        return middle, math.inf
    shares = [statistics.variance(values) / len(values) for values in (first, second)]
    if not sum(shares):
        return middle, 0.0
    freedom = sum(shares) ** 2 / sum(share**2 / (len(first) - 1) for share in shares)
    return middle, float(stats.t.ppf(0.975, freedom)) * math.sqrt(sum(shares))


def measure_learning(
    table: LearningTable, seeds: int, out: Path, players: Sequence[str] = (), longest: int | None = None
) -> LearningFigures:
    """Train the players of a table; runs that exist in ``out`` are continued.

    Args:
        table: the players and their environment.
        seeds: runs of each player, with seeds 0, 1, ...
        out: parent of the run folders ``PLAYER/SEED``.
        players: names of the players to train; () for all.
        longest: maximum number of environment steps of a run; None for the table's. A finished run of fewer steps is
            continued if its player had not learned, or if the table's runs have full length.

    Raises:
        InputError: there is no such player, a run in ``out`` has other settings, or a run of fewer steps cannot be
            continued because a schedule depends on the number of steps.
        MissingExtra: torch is not installed.
    """
    check_names(f"player of the table {table.name!r}", players, table.players)
    from rich.console import Console

    console = Console(stderr=True)
    table = replace(table, steps=longest or table.steps)
    chosen = [name for name in table.players if not players or name in players]
    runs: dict[str, list[GridRunFigures]] = {name: [] for name in chosen}
    # Seed by seed, so that an interrupted command has something of each.
    for seed in range(seeds):
        for name in chosen:
            runs[name].append(_measure(table, table.players[name], seed, out / name / str(seed)))
            run = runs[name][-1]
            learned = "not learned" if run.learned is None else f"learned at step {run.learned:,}"
            said = f"{table.name}, {name}, seed {seed}: {learned} of {run.steps:,}, {run.success:.0%} held out"
            console.print(said, highlight=False)
    return LearningFigures(table, runs)


def _measure(table: LearningTable, player: GridPlayer, seed: int, folder: Path) -> GridRunFigures:
    kind = LEARNERS[player.learner]
    config = kind.config(
        env=table.env,
        axes=dict(table.axes),
        steps=table.steps,
        seed=seed,
        eval_every=0,
        final_episodes=100,
        track=(),
        **dict(player.settings),
    )
    begun = is_run(folder)
    if begun:
        saved = RunFolder.reopen(folder, kind.config)[1]
        longer = config.steps > saved.steps
        refuse_changes(folder, config, saved, ("steps",) if longer else ())
        if longer and config.schedules:
            raise InputError(
                f"the run in {str(folder)!r} was begun with {saved.steps:,} steps, which its {config.schedules[0]} "
                f"follows, so that it cannot become one of {config.steps:,}; give --longest {saved.steps}, or another "
                "--out."
            )
    if (figures := folder / "figures.json").is_file():
        known = GridRunFigures(**json.loads(figures.read_text(encoding="utf-8")))
        if known.steps >= table.steps or (known.learned is not None and not table.whole):
            return known
    runs = kind.load_run()
    run = runs.resume(folder, config) if begun else runs.start(folder, config)
    try:
        if table.whole:
            run.run()
        else:
            run.run(lambda progress: run.stop() if _find_step_learned(read_lines(folder / "metrics.jsonl")) else None)
        success = run.evaluate(config.final_episodes).success.mean
        rows = read_lines(folder / "metrics.jsonl")
        last = [share for row in rows if (share := _success_of(row)) is not None][-HELD:]
        trained = statistics.fmean(last) if last else None
        found = GridRunFigures(_find_step_learned(rows), run.step, success, _find_first_success(rows), trained)
    finally:
        run.close()
    write_atomically(figures, json.dumps(vars(found)) + "\n")
    return found


def _success_of(row: Mapping[str, Any]) -> float | None:
    """Return the success rate over whole episodes of an iteration; None without episodes. Go-Explore first trains from
    states near the end of its solutions, which counts as 0; later, the rate from the start counts times the share of
    its levels that it has solved."""
    if "cells" not in row:
        return row.get("success")
    return row["levels_solved"] * row.get("success_from_start", 0.0) if row.get("start") == 0.0 else 0.0


def _find_step_learned(rows: Sequence[Mapping[str, Any]]) -> int | None:
    """Return the environment step at which the player had learned, given the metrics so far; None if it has not."""
    held, since = 0, None
    for row in rows:
        if (_success_of(row) or 0.0) < SHARE:
            held, since = 0, None
            continue
        held, since = held + 1, row["step"] if since is None else since
        if held == HELD:
            return since
    return None


def _find_first_success(rows: Sequence[Mapping[str, Any]]) -> int | None:
    """Return the environment step of the first iteration with a success (in Go-Explore, with a solved level)."""
    return next((row["step"] for row in rows if row.get("success") or row.get("levels_solved")), None)
