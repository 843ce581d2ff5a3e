"""Report of ``palaestra bench teachers``: one self-contained page with the results and the plots of every table."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, PercentFormatter

from ...agents.pages import render
from ...estimates import MeanEstimate
from ...scripts.docstrings import paper, summary
from ...scripts.report_plots import FAINT, GRID, INK, PANEL, as_svg
from ...teachers.benchmarks.statistics import Line, mean_curve, rank_lines, summarise_settings
from ...teachers.benchmarks.table import ORACLE, UNIFORM, Table, find_factory, parse_teacher
from .figures import SEEDS_TO_JUDGE, compare_to_uniform, format_estimate

TEMPLATE = Path(__file__).with_name("page.html")
COLOURS = ("#1f6f8b", "#c8702a", "#7a5aa6", "#2f8f5b", "#b8405e", "#8a6d1f")  # further teachers are drawn faint
Record = Mapping[str, Any]


def render_page(
    tables: Mapping[str, Table],
    rows: Mapping[str, Sequence[Record]],
    lines: Mapping[str, Sequence[Line]],
    failures: Sequence[str],
) -> str:
    """Return the page as HTML. Tables without runs are listed, but empty."""
    sections = [_section(tables[name], rows[name], lines[name]) for name in tables]
    return render(TEMPLATE, "the report", sections=sections, failures=failures)


def _section(table: Table, rows: Sequence[Record], lines: Sequence[Line]) -> dict[str, Any]:
    order = rank_teachers(table, lines)
    real = [name for name in order if name not in (ORACLE, UNIFORM)]
    ahead = [name for name in real if UNIFORM in order and order.index(name) < order.index(UNIFORM)]
    settings = [name for name in table.settings if any(line.setting == name for line in lines)]
    found = {(line.teacher, line.setting): line for line in lines}
    cells = [
        {"teacher": teacher, "cells": [_cell(table, found.get((teacher, setting))) for setting in settings]}
        for teacher in order
    ]
    measures = list(dict.fromkeys(itertools.chain.from_iterable(line.measures for line in lines)))
    further = []
    for name in table.columns:
        estimates = {place: line.columns[name] for place, line in found.items() if name in line.columns}
        texts = [(t, [_estimate(table, estimates.get((t, setting))) for setting in settings]) for t in order]
        further.append((name, settings, texts))
    if joint := summarise_settings(rows, table.joint):
        both = [(t, [_estimate(table, joint[t])]) for t in sorted(joint, key=lambda t: -joint[t].mean)]
        further.insert(0, (f"{table.score} of all runs together", [" + ".join(table.joint)], both))
    seeds = max((line.score.n for line in lines), default=0)
    return {
        "table": table,
        "settings": settings,
        "best": ahead[:3] if seeds >= SEEDS_TO_JUDGE else [],
        "better": [
            name
            for name in real
            if all((name, s) in found and compare_to_uniform(found[name, s], table) == "better" for s in settings)
        ],
        "rows": cells,
        "glossary": [(name, *describe_row(table, name)) for name in order],
        "seeds": seeds,
        "lengths": ", ".join(sorted({f"{row['made']['length']:,}" for row in rows})),
        "further": further,
        "measured": _measured(order, settings, found, [name for name in measures if name not in table.columns]),
        "curves": [svg for setting in settings if (svg := _curves(table, rows, setting, order))],
        "legend": [(name, style["color"], style["linestyle"]) for name, style in _line_styles(order).items()],
        "maps": [(name, svg) for name in settings if (svg := _maps(rows, name, order))],
        "costs": _costs(order, lines),
    }


def rank_teachers(table: Table, lines: Sequence[Line]) -> list[str]:
    """Sort the teachers by mean rank over the settings, best first. Ties share a rank; the oracle comes first, for
    orientation, and the uniform teacher before all teachers with the same rank."""
    means = {name: sum(places) / len(places) for name, places in rank_lines(lines, table.lower).items()}
    return sorted(means, key=lambda name: (name != ORACLE, means[name], name != UNIFORM, name))


def describe_row(table: Table, row: str) -> tuple[str, str]:
    """Return one sentence about a row of a table, and its source."""
    if row in table.rows:
        return table.rows[row], ""
    teacher = find_factory(parse_teacher(row)[0])
    return summary(teacher), paper(teacher)


def _cell(table: Table, line: Line | None) -> dict[str, str]:
    if line is None:
        return {"score": "–", "gain": "", "verdict": ""}
    gain = "" if line.gain is None else format_estimate(line.gain, table)
    sign = "+" if line.gain is not None and line.gain.mean > 0 else ""
    return {
        "score": format_estimate(line.score, table),
        "gain": sign + gain,
        "verdict": compare_to_uniform(line, table),
    }


def _estimate(table: Table, estimate: MeanEstimate | None) -> str:
    return "–" if estimate is None else format_estimate(estimate, table)


def _measured(
    order: Sequence[str], settings: Sequence[str], found: Mapping[tuple[str, str], Line], measures: Sequence[str]
) -> list[tuple[str, list[str], list[tuple[str, list[str]]]]]:
    """Return a table for each further measure: its name, the settings with a value, and each teacher's values there."""
    tables = []
    for name in measures:
        of = {place: line.measures[name] for place, line in found.items() if name in line.measures}
        columns = [setting for setting in settings if any(place[1] == setting for place in of)]
        teachers = [teacher for teacher in order if any(place[0] == teacher for place in of)]
        rows = [(teacher, [_number(of.get((teacher, setting))) for setting in columns]) for teacher in teachers]
        tables.append((name, columns, rows))
    return tables


def _costs(order: Sequence[str], lines: Sequence[Line]) -> list[tuple[str, str, str]]:
    """Return rows of (teacher, microseconds per proposal, microseconds per outcome), means over the settings."""
    rows = []
    for teacher in order:
        calls = [line.calls for line in lines if line.teacher == teacher and line.calls]
        if calls:
            means = [sum(call[name] for call in calls) / len(calls) for name in ("propose", "observe")]
            rows.append((teacher, *(f"{mean:,.1f}" for mean in means)))
    return rows


def _number(value: float | None) -> str:
    if value is None or not math.isfinite(value):
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _line_styles(order: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the line styles of the teachers that are not drawn grey: the best ones, uniform and the oracle."""
    bold = [name for name in order if name not in (ORACLE, UNIFORM)][: len(COLOURS)]
    styles: dict[str, dict[str, Any]] = {
        name: {"color": colour, "linewidth": 1.6, "linestyle": "solid"} for name, colour in zip(bold, COLOURS)
    }
    known = {
        UNIFORM: {"color": INK, "linewidth": 1.8, "linestyle": "dashed"},
        ORACLE: {"color": INK, "linewidth": 1.2, "linestyle": "dotted"},
    }
    return styles | {name: style for name, style in known.items() if name in order}


def _curves(table: Table, rows: Sequence[Record], setting: str, order: Sequence[str]) -> str:
    """Draw the score during the run in one setting: mean and 95 % band of each teacher."""
    of = {name: [r for r in rows if r["setting"] == setting and r["teacher"] == name] for name in order}
    found = {name: mean_curve(group, table.statistic) for name, group in of.items() if group}
    curves = {name: curve for name, curve in found.items() if curve is not None}
    if not curves:
        return ""
    styles = _line_styles(order)

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        for name, (x, mean, low, high) in curves.items():
            style = styles.get(name, {"color": FAINT, "linewidth": 0.8})
            axes.plot(x, mean, **style)
            if name in styles:
                axes.fill_between(x, low, high, color=style["color"], alpha=0.1, linewidth=0)
        axes.set(title=setting, xlabel=table.x, ylabel=table.curve)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / 1000:g}k" if value else "0"))
        axes.grid(axis="y", color=GRID)
        if table.curve_percent:
            axes.set_ylim(0, 1)
            axes.yaxis.set_major_formatter(PercentFormatter(1.0))
            for line in axes.lines:
                line.set_clip_on(False)
        if table.logarithmic:
            axes.set(xscale="log", yscale="log")

    return as_svg(draw, PANEL)


def _maps(rows: Sequence[Record], setting: str, order: Sequence[str]) -> str:
    """Draw the tasks that each teacher sampled over time in one setting."""
    found = {}
    for name in order:
        heats = [row["heat"] for row in rows if row["setting"] == setting and row["teacher"] == name and row["heat"]]
        if heats:
            found[name] = (heats[0], np.mean([np.array(heat["slices"], dtype=float) for heat in heats], axis=0))
    if not found:
        return ""
    sliced = any(len(slices) > 1 for _, slices in found.values())
    return _filmstrips(found) if sliced else _bands(found)


def _filmstrips(found: Mapping[str, tuple[Mapping[str, Any], np.ndarray]]) -> str:
    """Draw a row of maps for each teacher, one map per slice of time; stronger colour where more tasks were sampled."""

    def draw(figure: Figure) -> None:
        axes: Axes = figure.add_subplot()
        count, side = max(len(slices) for _, slices in found.values()), 20
        canvas = np.full((len(found) * (side + 3), count * (side + 3)), math.nan)
        for row, (_, slices) in enumerate(found.values()):
            for column, part in enumerate(slices):
                # A map's strongest colour is ten times what uniform practice would give, so that maps compare.
                scaled = part / max(part.sum(), 1e-9) * part.size / 10
                top, left = (len(found) - 1 - row) * (side + 3), column * (side + 3)
                canvas[top : top + side, left : left + side] = scaled
        axes.pcolormesh(np.ma.masked_invalid(canvas), cmap="GnBu", vmin=0, vmax=1, rasterized=True)
        middle = (np.arange(len(found)) * (side + 3) + side / 2)[::-1]
        axes.set_yticks(middle, list(found))
        axes.set_xticks(
            np.arange(count) * (side + 3) + side / 2,
            [f"{100 * i // count}–{100 * (i + 1) // count} %" for i in range(count)],
        )
        first = next(iter(found.values()))[0]
        axes.set_xlabel(f"share of the run (each map: {first['x']} to the right, {first['y']} up)")
        axes.set_aspect("equal")
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.tick_params(length=0)

    return f'<div class="scroll" tabindex="0"><figure>{as_svg(draw, (6.6, 0.6 + 0.95 * len(found)))}</figure></div>'


def _bands(found: Mapping[str, tuple[Mapping[str, Any], np.ndarray]]) -> str:
    """Draw a panel for each teacher: categories upwards, time to the right; stronger colour for more tasks."""
    drawn = []
    for name, (heat, slices) in found.items():

        def draw(figure: Figure, name: str = name, y: str = heat["y"], shares: np.ndarray = slices[0]) -> None:
            axes = figure.add_subplot()
            axes.pcolormesh(shares, cmap="GnBu", vmin=0, vmax=0.5, rasterized=True)
            axes.set(xticks=[], yticks=[], xlabel="time", ylabel=y)
            axes.set_title(name)

        drawn.append(f"<figure>{as_svg(draw, (2.2, 1.5))}</figure>")
    return f'<div class="panels small">{"".join(drawn)}</div>'
