"""``palaestra report``: write report.html, a self-contained page about a run that opens without a network.

examples:
  palaestra report runs/first
  palaestra report runs/demo/palaestra --beside runs/demo/random    # with the rungs that both climbed
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

import tyro

from ..agents.atomic import write_atomically
from ..agents.pages import render
from ..errors import InputError, needs_extra, shorten

Row = dict[str, Any]

TEMPLATE = Path(__file__).with_name("report.html")
EPISODES = 10
REPEATED, ATTEMPTS = 6, 6
"""Most tasks whose attempts at several steps are shown, and most attempts of each."""
TABLE_ROWS = 12


@dataclass(frozen=True)
class ReportOptions:
    run: tyro.conf.Positional[Path]
    """Folder of the run."""
    beside: tuple[Path, ...] = ()
    """Other runs on the same ladder, whose rungs are plotted together with this run's."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    config = tyro.cli(ReportOptions, args=argv, prog="palaestra report", description=__doc__)
    print(write_report(config.run, {path.name: path for path in config.beside}))
    return 0


def write_report(run: Path, beside: Mapping[str, Path] | None = None) -> Path:
    """Write ``run``/report.html from the files that the run has written so far, and return its path.

    The run may be still in progress, may have been killed in the middle of a line, and may have no evaluation yet.

    Args:
        beside: name -> folder of other runs on the same ladder, whose ``rungs.jsonl`` is plotted together with this
            run's.

    Raises:
        InputError: the folder has no run, or one of its files is malformed.
        MissingExtra: matplotlib or jinja2 is not installed.
    """
    run = Path(run)
    config = read_config(run)
    with needs_extra("the report", "train"):
        from . import report_plots as plots
    metrics = by_step(read_rows(run / "metrics.jsonl"))
    evaluations = by_step(read_rows(run / "evaluations.jsonl"))
    proposals = read_rows(run / "proposals.jsonl")
    timings = by_step(read_rows(run / "timings.jsonl"))
    notices = read_rows(run / "notices.jsonl")
    trajectories = read_rows(run / "trajectories.jsonl")
    climbers = {run.resolve().name: run, **(beside or {})}
    page = render(
        TEMPLATE,
        "the report",
        filters={"number": format_number, "percent": format_percent},
        name=run.resolve().name,
        folder=str(run),
        config=config,
        all_config=json.dumps(config, indent=2, ensure_ascii=False),
        notices=notices,
        tiles=tiles(metrics, evaluations, timings),
        evaluation_lines=plots.evaluation_lines(evaluations),
        training_heat=plots.training_heat(proposals),
        sampled_heats=plots.sampled_heats(proposals),
        pass_at_k_lines=plots.pass_at_k_lines(metrics),
        curves=plots.curves(metrics, timings),
        climb=plots.climb_lines({name: by_step(read_rows(path / "rungs.jsonl")) for name, path in climbers.items()}),
        table=evaluation_table(evaluations),
        repeated=repeated_tasks(trajectories),
        episodes=[format_episode(row) for row in sample_episodes(trajectories)],
    )
    return write_atomically(run / "report.html", page)


def read_config(run: Path) -> Row:
    """Read config.json. Raises InputError if the folder has no run."""
    path = run / "config.json"
    if not path.is_file():
        raise InputError(f"{str(run)!r} is no run: it has no config.json; give the folder that palaestra train wrote.")
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{str(path)!r} is not JSON ({error}); give the folder that palaestra train wrote.") from error
    if not isinstance(config, dict):
        raise InputError(f"{str(path)!r} holds no JSON object; give the folder that palaestra train wrote.")
    return config


def read_rows(path: Path) -> list[Row]:
    """Return the objects in a JSON-lines file; [] if the file does not exist. Raises InputError as `iterate_rows`."""
    return [row for _, row in iterate_rows(path)] if path.is_file() else []


def iterate_rows(path: Path) -> Iterator[tuple[int, Row]]:
    """Yield (line number, object) for each line of a JSON-lines file. An incomplete last line, from a run that was
    killed, is skipped. Raises InputError for any other line that is no JSON object."""
    for number, row, _ in iterate_rows_from(path):
        yield number, row


def iterate_rows_from(path: Path, start: int = 0, lines: int = 0) -> Iterator[tuple[int, Row, int]]:
    """Yield (line number, object, byte after the line), as `iterate_rows`, beginning at byte ``start`` after ``lines``
    lines."""
    with path.open("rb") as stream:
        stream.seek(start)
        for number, line in enumerate(stream, start=lines + 1):
            start += len(line)
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError:
                row = None
            if isinstance(row, dict):
                yield number, row, start
            elif line.endswith(b"\n"):
                raise InputError(f"line {number} of {str(path)!r} is no JSON object; remove the line to read the rest.")


def by_step(rows: Iterable[Row]) -> list[Row]:
    """Merge the rows of each step into one, and sort by step. Values of later rows override those of earlier ones."""
    merged: dict[Any, Row] = {}
    for row in rows:
        merged[row.get("step", 0)] = {**merged.get(row.get("step", 0), {}), **row}
    return [row for _, row in sorted(merged.items())]


def tiles(metrics: Sequence[Row], evaluations: Sequence[Row], timings: Sequence[Row]) -> list[tuple[str, str, str]]:
    """Compute the key figures at the top of the page: (name, value, basis of the measurement)."""
    found = []
    if evaluations:
        first, last = evaluations[0], evaluations[-1]
        for name, row in [("last", last), ("first", first)][: len(evaluations)]:
            on = f"step {row.get('step')}, {format_interval(row)}"
            if is_finite_number(row.get("greedy_success")):
                on += f"; greedy {format_percent(row['greedy_success'])}"
            found.append((f"held-out success, {name} evaluation", format_percent(row.get("success")), on))
    if metrics:
        last = metrics[-1]
        sampled = f"step {last.get('step')}, on the tasks that the teacher chose"
        found.append(("training success", format_percent(last.get("success")), sampled))
        episodes = sum(row.get("episodes") or 0 for row in metrics)
        tokens = sum(row.get("tokens") or 0 for row in metrics)
        actions = sum(row.get("env_steps") or 0 for row in metrics)
        played = f"{actions:,.0f} environment steps" if actions else f"{tokens:,.0f} tokens, {len(metrics)} steps"
        found.append(("episodes played", f"{episodes:,.0f}", played))
        if overlong := sum(row.get("overlong_prompts") or 0 for row in metrics):
            found.append(("prompts left out", f"{overlong:,.0f}", "longer than the context allows"))
    if timings:
        training, warmup, evaluation = (
            sum(row.get(name) or 0.0 for row in timings) for name in ("seconds", "warmup_s", "evaluation_s")
        )
        parts = [f"{format_duration(s)} {name}" for name, s in (("warm-up", warmup), ("evaluation", evaluation)) if s]
        speeds = sorted(row["tokens_per_s"] for row in timings if row.get("tokens_per_s") is not None)
        if speeds:
            parts.append(f"median {speeds[len(speeds) // 2]:,.0f} tokens/s")
        if rates := sorted(row["steps_per_s"] for row in timings if row.get("steps_per_s") is not None):
            parts.append(f"median {rates[len(rates) // 2]:,.0f} environment steps/s")
        found.append(("time", format_duration(training + warmup + evaluation), "; ".join(parts)))
    return found


def parts_of(evaluation: Row) -> dict[str, Row]:
    """Return the parts of an evaluation: each environment of several, and each policy besides the run's own."""
    return {**evaluation.get("environments", {}), **evaluation.get("policies", {})}


def evaluation_table(evaluations: Sequence[Row]) -> dict[str, Any]:
    """Make the table of success by step, environment or policy, and difficulty: {"bins": column headings, "rows": rows}
    of at most `TABLE_ROWS` evaluations, including the first and the last."""
    everything = [row for evaluation in evaluations for row in evaluation.get("by_difficulty", ())]
    bins = sorted({(row["low"], row["high"]) for row in everything})
    names = list(dict.fromkeys(name for evaluation in evaluations for name in parts_of(evaluation)))
    rows = []
    for evaluation in pick_evenly(evaluations, TABLE_ROWS):
        found = {(row["low"], row["high"]): row for row in evaluation.get("by_difficulty", ())}
        cells = [evaluation, *(parts_of(evaluation).get(name) for name in names)]
        cells += [found.get(edges) for edges in bins]
        rows.append(
            {
                "step": evaluation.get("step"),
                "episodes": evaluation.get("episodes"),
                "cells": [
                    (format_percent(cell.get("success")), format_interval(cell)) if cell else ("–", "")
                    for cell in cells
                ],
            }
        )
    difficulties = [f"{low:.2f}" if low == high else f"{low:.2f}–{high:.2f}" for low, high in bins]
    return {"bins": [*names, *difficulties], "rows": rows}


def sample_episodes(trajectories: Sequence[Row], count: int = EPISODES) -> list[Row]:
    """Choose at most ``count`` episodes, evenly spread over the run; half are successes if there are enough of both."""
    ordered = sorted(trajectories, key=lambda row: row.get("step", 0))
    won = [row for row in ordered if row.get("is_success")]
    lost = [row for row in ordered if not row.get("is_success")]
    lost_count = min(len(lost), max(count - count // 2, count - len(won)))
    chosen = pick_evenly(won, count - lost_count) + pick_evenly(lost, lost_count)
    return sorted(chosen, key=lambda row: row.get("step", 0))


def repeated_tasks(trajectories: Sequence[Row]) -> list[Row]:
    """Choose at most `REPEATED` tasks that were kept at several steps, those over most steps first: observation,
    reference and attempts, each with step, last action and outcome."""
    by_task: dict[Any, dict[int, Row]] = {}
    for row in trajectories:
        if row.get("turns") and row.get("task_id"):
            by_task.setdefault(row["task_id"], {}).setdefault(row.get("step", 0), row)
    often = sorted((found for found in by_task.values() if len(found) > 1), key=lambda found: min(found) - max(found))
    tasks = []
    for found in often[:REPEATED]:
        episodes = [format_episode(found[step]) for step in pick_evenly(sorted(found), ATTEMPTS)]
        attempts = [
            {"step": one["step"], "outcome": one["outcome"], "action": shorten(one["turns"][-1]["action"], 300)}
            for one in episodes
        ]
        first = episodes[0]
        task = {name: first.get(name) for name in ("difficulty", "params")}
        reference = first.get("reference")
        task["reference"] = "" if reference is None else shorten(format_value(reference), 300)
        tasks.append({**task, "observation": shorten(first["turns"][0]["observation"], 600), "attempts": attempts})
    return tasks


def pick_evenly(items: Sequence[Any], count: int) -> list[Any]:
    """Choose ``count`` items at even distances, including the first and the last; all items if there are not more."""
    if len(items) <= count:
        return list(items)
    if count < 2:
        return list(items[-1:] if count else [])
    return [items[round(position * (len(items) - 1) / (count - 1))] for position in range(count)]


def format_episode(row: Row) -> Row:
    """Convert an episode for the page: observations, actions and parameters as text, and "outcome"."""
    turns = [
        {**turn, "observation": format_value(turn.get("observation")), "action": format_value(turn.get("action"))}
        for turn in row.get("turns", ())
    ]
    params = ", ".join(f"{name} {value}" for name, value in (row.get("params") or {}).items())
    if not row.get("reward_valid", True):
        outcome = "invalid"
    else:
        outcome = "success" if row.get("is_success") else "truncated" if row.get("truncated") else "failure"
    return {**row, "turns": turns, "params": params, "outcome": outcome}


def format_value(value: Any) -> str:
    """Return text unchanged and anything else as JSON; lone surrogates, which cannot be encoded, become "?"."""
    shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return shown.encode("utf-8", "replace").decode("utf-8")


def is_finite_number(value: Any) -> TypeGuard[float]:
    """Return True if a measured value is a finite number (a step without gradients, for example, has no loss)."""
    return isinstance(value, int | float) and math.isfinite(value)


def format_number(value: Any) -> str:
    """Format a number with three significant digits; a dash if the value is unknown."""
    return f"{value:.3g}" if is_finite_number(value) else "–"


def format_percent(value: Any) -> str:
    """Format a share as a whole percentage; a dash if the value is unknown."""
    return f"{100 * value:.0f} %" if is_finite_number(value) else "–"


def format_interval(row: Mapping[str, Any]) -> str:
    """Format the confidence interval in percent, ``[49, 94]``; "" if it is unknown."""
    low, high = row.get("ci") or (None, None)
    return f"[{100 * low:.0f}, {100 * high:.0f}]" if is_finite_number(low) and is_finite_number(high) else ""


def format_duration(seconds: float) -> str:
    """Format a duration: ``45 s``, ``3 min 20 s``, ``2 h 05 min``."""
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest} s"
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
