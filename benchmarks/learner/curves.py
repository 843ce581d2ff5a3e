"""Curves of the part "real" of the learner benchmark: success in training and on held-out tasks of both sides.

`CurveRecorder` collects reports of steps; the other functions make a table in Markdown and a figure from its rows. Time
is the sum of the steps alone, so that neither evaluations nor the turns of the other side count.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..harness import format_markdown

Row = dict[str, float]
SMOOTHED = 5
"""Number of steps over which the figure averages success in training."""


class Evaluated(Protocol):
    """A side whose policy can be evaluated."""

    name: str

    def evaluate(self) -> Mapping[str, float]:
        """Return mean success on held-out tasks: ``sampled`` at temperature 1, and ``greedy``."""
        ...


@dataclass
class CurveRecorder:
    """Collects the rows of one seed, and evaluates each side before its first step, regularly, and after its last.

    Attributes:
        steps: number of steps of each side.
        every: number of steps between evaluations.
        save: called with False after each step, and with True after each evaluation.
        curves: side -> rows of "steps" and of "held_out"; each row has ``step``, and ``seconds`` and ``cpu_s`` so far.
    """

    steps: int
    every: int
    save: Callable[[bool], None] = lambda evaluated: None
    curves: dict[str, dict[str, list[Row]]] = field(default_factory=dict)

    def begin(self, side: Evaluated) -> None:
        """Evaluate a side before its first step."""
        self.curves[side.name] = {"steps": [], "held_out": []}
        self._evaluate(side, {"step": 0, "seconds": 0.0, "cpu_s": 0.0})

    def add(self, side: Evaluated, report: Mapping[str, float]) -> None:
        """Add the report of a side's next step, and evaluate the side if it is due."""
        rows = self.curves[side.name]["steps"]
        before = rows[-1] if rows else {"seconds": 0.0, "cpu_s": 0.0}
        so_far = {name: before[name] + report[name] for name in ("seconds", "cpu_s")}
        row = {"step": len(rows) + 1, **so_far, "step_s": report["seconds"], "success": report["reward"]}
        rows.append(row)
        self.save(False)
        if row["step"] % self.every == 0 or row["step"] == self.steps:
            self._evaluate(side, {"step": row["step"], **so_far})

    def _evaluate(self, side: Evaluated, place: Row) -> None:
        found = side.evaluate()
        self.curves[side.name]["held_out"].append({**place, "sampled": found["sampled"], "greedy": found["greedy"]})
        self.save(True)


def format_curves(cases: Sequence[Mapping[str, Any]]) -> str:
    """Format a table with a row for each evaluated step, means over the seeds that have reached it, and the speeds."""
    names = list(cases[0]["curves"])
    columns = ("training", "held out", "greedy", "minutes", "processor minutes")
    header = ["step", *(f"{name}: {column}" for name in names for column in columns)]
    steps = sorted({row["step"] for case in cases for curve in case["curves"].values() for row in curve["held_out"]})
    rows = [
        (str(step), *(cell for name in names for cell in _cells(cases, name, before, step)))
        for before, step in itertools.pairwise([-1, *steps])
    ]
    lines = [format_markdown(header, rows, align="r"), ""]
    for name in names:
        seconds = [side["seconds"]["median"] for side in _sides(cases, name)]
        work = [statistics.median(row["cpu_s"] for row in side["steps"]) for side in _sides(cases, name)]
        if seconds:
            wall, processor = (3600 / statistics.fmean(values) for values in (seconds, work))
            lines += [f"{name}: {wall:,.0f} steps an hour, {processor:,.0f} an hour of processor time.", ""]
    return "\n".join(lines)


def draw_curves(cases: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw success in training (mean of the last steps) and held out (dashed: greedy), against steps and both times.

    Each seed has a thin line, and the mean a thick one, up to the last step that all seeds have reached.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 6), layout="constrained")
    axes = figure.subplots(2, 3, sharey=True)
    axis_labels = {"step": ("steps", 1.0), "seconds": ("minutes", 60.0), "cpu_s": ("processor minutes", 60.0)}
    for column, (key, (label, unit)) in enumerate(axis_labels.items()):
        for color, name in zip(("#1f6f8b", "#c2571a"), cases[0]["curves"]):
            curves = [case["curves"][name] for case in cases if name in case["curves"]]
            trained = []
            for curve in curves:
                last = [curve["steps"][max(0, end - SMOOTHED) : end] for end in range(1, len(curve["steps"]) + 1)]
                means = [statistics.fmean(row["success"] for row in rows) for rows in last]
                trained.append([{**row, "success": mean} for row, mean in zip(curve["steps"], means)])
            _draw_lines(axes[0, column], trained, key, unit, "success", {"color": color, "label": name})
            held_out = [curve["held_out"] for curve in curves]
            _draw_lines(axes[1, column], held_out, key, unit, "sampled", {"color": color, "label": f"{name}, sampled"})
            dashed = {"color": color, "linestyle": "--", "label": f"{name}, greedy"}
            _draw_lines(axes[1, column], held_out, key, unit, "greedy", dashed)
        axes[1, column].set_xlabel(label)
    axes[0, 0].set_ylabel(f"success in training\n(mean of {SMOOTHED} steps)")
    axes[1, 0].set_ylabel("success on held-out tasks")
    for row in axes:
        row[0].set_ylim(0, 1)
        row[-1].legend(frameon=False)
    figure.savefig(path, dpi=150)


def _sides(cases: Sequence[Mapping[str, Any]], name: str) -> Iterator[Mapping[str, Any]]:
    return (case["sides"][name] for case in cases if name in case.get("sides", {}))


def _cells(cases: Sequence[Mapping[str, Any]], name: str, before: float, step: float) -> list[str]:
    """Return the cells of one side in a row: training success since the row ``before``, and figures at ``step``."""
    curves = [case["curves"].get(name, {"steps": [], "held_out": []}) for case in cases]
    rows = [row for curve in curves for row in curve["held_out"] if row["step"] == step]
    if not rows:
        return [""] * 5
    trained = [row["success"] for curve in curves for row in curve["steps"] if before < row["step"] <= step]
    return [
        f"{statistics.fmean(trained):.1%}" if trained else "",
        *(f"{statistics.fmean(row[key] for row in rows):.1%}" for key in ("sampled", "greedy")),
        *(f"{statistics.fmean(row[key] for row in rows) / 60:.1f}" for key in ("seconds", "cpu_s")),
    ]


def _draw_lines(
    axes: Any, lines: Sequence[Sequence[Row]], key: str, unit: float, value: str, style: Mapping[str, Any]
) -> None:
    length = min(map(len, lines))
    mean = np.mean([[(row[key] / unit, row[value]) for row in rows[:length]] for rows in lines], axis=0)
    if len(lines) > 1:
        for rows in lines:
            points = [(row[key] / unit, row[value]) for row in rows]
            axes.plot(*zip(*points), **{**style, "label": None}, linewidth=0.6, alpha=0.5)
    axes.plot(*mean.reshape(length, 2).T, **style, linewidth=1.8)
