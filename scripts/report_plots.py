"""Plots of a run's report: rewards, success, lengths, entropy and other metrics over the steps, success by difficulty,
and the tasks that the teacher sampled. Each plot is an SVG element as text, or "" if there are no data."""

from __future__ import annotations

import functools
import io
import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from ..errors import shorten

Row = dict[str, Any]

# Sizes of plots in inches. The page scales them to about 150 % on a wide screen, and to the width of a phone.
SINGLE, PANEL, LARGE_PANEL = (4.8, 2.9), (3.3, 2.1), (4.6, 2.3)
WINDOWS = 40  # columns of a heat map: enough to see a curriculum move, few enough for each to hold several groups
LEVELS = 10  # rows for an axis of many values
LABEL = 24  # longest label of a row in characters; a title may have twice as many
LISTED = 12  # an axis with no more values than this has a row for each

# Colours of the light page. The style sheet converts them for the dark page, which needs a transparent background.
INK, FAINT, ACCENT, GRID = "#22303c", "#b8c4ce", "#1f6f8b", "#e6eaee"
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "legend.frameon": False,
    "axes.formatter.useoffset": False,
    "text.parse_math": False,  # a label may hold dollar signs
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.size": 3,
    "ytick.major.size": 3,
}
Range = Literal["share", "small share", "from 0", "free"]
# Title of a panel -> range of its axis, and its metrics with their names in the legend; metrics that a run lacks are
# left out. The axis of a share goes from 0 to 1, so that an effective sample size of nearly 1 does not look noisy.
PANELS: dict[str, tuple[Range, dict[str, str]]] = {
    "reward of an episode": ("free", {"reward": ""}),
    "training success": ("share", {"success": ""}),
    "action tokens an episode": ("from 0", {"length": "mean", "length_p90": "90 % below", "length_max": "longest"}),
    "groups without variance": (
        "share",
        {"zero_variance_share": "all", "solved_share": "solved", "failed_share": "failed"},
    ),
    "entropy (nats a token or action)": ("from 0", {"entropy": ""}),
    "KL divergence (nats a token or action)": ("free", {"kl": ""}),
    "share of tokens or actions clipped": ("small share", {"clip_fraction": ""}),
    "effective sample size, as a share": ("share", {"ess": ""}),
    "gradient norm": ("from 0", {"grad_norm": ""}),
    "tokens/s by phase": ("from 0", {"rollout_tokens_per_s": "rollout", "train_tokens_per_s": "training"}),
}
# The same for students, which have no tokens.
STUDENT_PANELS: dict[str, tuple[Range, dict[str, str]]] = {
    "actions an episode": ("from 0", {"actions": ""}),
    "bonus of an episode": ("free", {"bonus": ""}),
    "value loss": ("from 0", {"value_loss": ""}),
    "explained variance of the values": ("free", {"explained_variance": ""}),
    "temporal-difference error": ("from 0", {"td_error": ""}),
    "states in the table": ("from 0", {"states": ""}),
    "states in the archive": ("from 0", {"cells": ""}),
    "levels, and what is given of their solutions": (
        "share",
        {"levels_solved": "solved", "start": "of a solution given", "success_from_start": "success with none given"},
    ),
    "steps controlled by the learner": ("share", {"learner": "all", "wanted": "before vetoes"}),
    "environment steps/s": ("from 0", {"steps_per_s": ""}),
}
_OF_POLICY = re.compile(r"policy/[^/]+/[^/]+")
LINES = (ACCENT, "#c8702a", "#7a5aa6")


def evaluation_lines(evaluations: Sequence[Row]) -> str:
    """Plot success on held-out tasks over the steps: overall with a confidence band, and a line for each difficulty bin
    or, with several environments or policies, for each of these."""
    rows = [row for row in evaluations if _is_finite(row.get("success"))]
    if not rows:
        return ""

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        steps = [row["step"] for row in rows]
        # With several environments or policies, draw one line for each instead of one per difficulty.
        parts_by_row = [{**row.get("environments", {}), **row.get("policies", {})} for row in rows]
        names = list(dict.fromkeys(name for parts in parts_by_row for name in parts))
        for name, colour in zip(names, mpl.color_sequences["tab10"] * math.ceil(len(names) / 10)):
            line = [(row["step"], parts.get(name, {}).get("success")) for row, parts in zip(rows, parts_by_row)]
            own = [part for part in line if _is_finite(part[1])] or [(rows[0]["step"], math.nan)]
            axes.plot(
                *zip(*own), color=colour, linewidth=1.3, marker="o", markersize=2.5, label=shorten(name, 2 * LABEL)
            )
        found_bins = {(b["low"], b["high"]) for row in rows for b in row.get("by_difficulty", ())}
        bins = [] if names else sorted(found_bins)
        for (low, high), colour in zip(bins, _ramp(len(bins))):
            found = [
                (row["step"], b["success"])
                for row in rows
                for b in row.get("by_difficulty", ())
                if (b["low"], b["high"]) == (low, high) and _is_finite(b.get("success"))
            ]
            label = f"{low:.2f}" if low == high else f"{low:.2f}–{high:.2f}"
            axes.plot(*zip(*found), color=colour, linewidth=1.3, marker="o", markersize=2.5, label=label)
        means = [row["success"] for row in rows]
        axes.plot(steps, means, color=INK, linewidth=2.2, marker="o", markersize=4, label="all")
        if greedy := [(row["step"], row["greedy_success"]) for row in rows if _is_finite(row.get("greedy_success"))]:
            axes.plot(*zip(*greedy), color=INK, linewidth=1.3, linestyle="--", label="all, greedy")
        bands = [(row["step"], *row["ci"]) for row in rows if all(map(_is_finite, row.get("ci") or (None,)))]
        if bands:
            at, low, high = zip(*bands)
            axes.fill_between(at, low, high, color=INK, alpha=0.12, linewidth=0)
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        axes.set(xlabel="step", ylabel="held-out success")
        _share_axis(axes)
        figure.legend(loc="outside lower center", ncols=2 if names else 4)

    return as_svg(draw, SINGLE)


def training_heat(proposals: Sequence[Row]) -> dict[str, Any]:
    """Plot success in training as a heat map of difficulty by step; if all tasks have the same difficulty, as a line.

    Returns:
        {"svg": the plot, "is_map": True for a heat map}; {} if there are no data.
    """
    rows = [row for row in proposals if _is_finite(row.get("difficulty")) and _is_finite(row.get("success"))]
    if not rows:
        return {}
    edges = _windows(rows)
    levels, labels = _number_levels([row["difficulty"] for row in rows])
    where = (levels, np.array([_window(edges, row["step"]) for row in rows]))
    weight = np.array([float(row.get("n") or 1) for row in rows])
    played, won = np.zeros((2, len(labels), len(edges) - 1))
    np.add.at(played, where, weight)
    np.add.at(won, where, weight * [row["success"] for row in rows])
    share = np.divide(won, played, out=np.full_like(won, math.nan), where=played > 0)

    def draw_map(figure: Figure) -> None:
        axes = figure.add_subplot()
        _heat(figure, axes, share, edges, "viridis", labels, "success", highest=1.0)
        axes.set_ylabel("difficulty")

    def draw_line(figure: Figure) -> None:
        axes = figure.add_subplot()
        axes.plot((edges[:-1] + edges[1:] - 1) / 2, share[0], color=ACCENT, marker="o", markersize=3)
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        axes.set(xlabel="step", ylabel=f"success at difficulty {labels[0]}")
        _share_axis(axes)

    is_map = len(labels) > 1
    return {"svg": as_svg(draw_map if is_map else draw_line, SINGLE), "is_map": is_map}


def sampled_heats(proposals: Sequence[Row]) -> list[str]:
    """Plot the tasks that the teacher sampled: for difficulty and each axis, a heat map of the share of rollouts by
    value and step. Constant axes are left out."""
    rows = [row for row in proposals if isinstance(row.get("params"), dict)]
    if not rows:
        return []
    edges = _windows(rows)
    columns = np.array([_window(edges, row["step"]) for row in rows])
    weight = np.array([float(row.get("n") or 1) for row in rows])
    panels: list[tuple[str, np.ndarray, np.ndarray, list[str]]] = []
    if all(_is_finite(row.get("difficulty")) for row in rows):
        panels.append(("difficulty", np.arange(len(rows)), *_number_levels([row["difficulty"] for row in rows])))
    # With several environments, each has separate axes.
    for name in dict.fromkeys(name for row in rows for name in row["params"]):
        own = np.flatnonzero([name in row["params"] for row in rows])
        panels.append((name, own, *_axis_levels([rows[i] for i in own], name)))
    drawn = []
    for name, own, levels, labels in panels:
        if len(labels) < 2:
            continue
        count = np.zeros((len(labels), len(edges) - 1))
        np.add.at(count, (levels, columns[own]), weight[own])
        total = count.sum(axis=0, keepdims=True)
        share = np.divide(count, total, out=np.full_like(count, math.nan), where=total > 0)
        drawn.append(as_svg(functools.partial(_draw_sampled, name, share, edges, labels), LARGE_PANEL))
    return drawn


def _draw_sampled(name: str, share: np.ndarray, edges: np.ndarray, labels: Sequence[str], figure: Figure) -> None:
    axes = figure.add_subplot()
    _heat(figure, axes, share, edges, "GnBu", labels, "")
    axes.set_title(shorten(name, 2 * LABEL))


def pass_at_k_lines(metrics: Sequence[Row]) -> str:
    """Plot pass@k in training over the steps, for each k with its intervals, smoothed by a moving mean."""
    found = []
    for k in sorted({int(name[5:]) for row in metrics for name in row if name[:5] == "pass@" and name[5:].isdigit()}):
        names = (f"pass@{k}", f"pass@{k}_low", f"pass@{k}_high")
        rows = [row for row in metrics if all(_is_finite(row.get(name)) for name in names)]
        if rows:
            found.append((k, [row["step"] for row in rows], [np.array([row[name] for row in rows]) for name in names]))
    if not found:
        return ""

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        for (k, steps, values), colour in zip(found, _ramp(len(found))):
            mean, low, high = map(_smooth, values)
            axes.fill_between(steps, low, high, color=colour, alpha=0.12, linewidth=0)
            # A single step would be an invisible line.
            axes.plot(steps, mean, color=colour, marker="o" if len(steps) == 1 else "", label=f"pass@{k}")
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        axes.set(xlabel="step", ylabel="tasks solved")
        _share_axis(axes)
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(handles[::-1], labels[::-1], loc="outside lower center", ncols=5)

    return as_svg(draw, SINGLE)


def climb_lines(climbs: Mapping[str, Sequence[Row]]) -> str:
    """Plot the rungs of a ladder that are climbed, over the attempts, with a line for each run."""
    found = {name: [row for row in rows if _is_finite(row.get("rungs"))] for name, rows in climbs.items()}
    if not any(found.values()):
        return ""

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        for name, rows in found.items():
            axes.plot(
                [r["attempts"] for r in rows],
                [r["rungs"] for r in rows],
                marker="o",
                markersize=4,
                label=shorten(name, 2 * LABEL),
            )
        axes.set(ylim=(0, None), xlabel="attempts", ylabel="rungs climbed")
        axes.grid(axis="y", color=GRID)
        figure.legend(loc="outside lower center", ncols=3)

    return as_svg(draw, SINGLE)


def curves(metrics: Sequence[Row], timings: Sequence[Row] = ()) -> list[str]:
    """Plot the learner's metrics over the steps: raw values faintly, and their moving means in front."""
    drawn = []
    for title, (limits, figures) in (PANELS | STUDENT_PANELS).items():
        lines, shown = [], dict(figures)
        if len(figures) == 1:  # the same of each policy besides the run's own
            (own,) = figures
            others = {key: key.split("/")[1] for row in metrics for key in row if _OF_POLICY.fullmatch(key)}
            shown |= {key: name for key, name in others.items() if key.endswith(f"/{own}")}
            shown[own] = "own policy" if len(shown) > 1 else figures[own]
        for (name, label), colour in zip(shown.items(), itertools.cycle(LINES)):
            points = [(row["step"], row[name]) for row in (*metrics, *timings) if _is_finite(row.get(name))]
            if points:
                lines.append((label, colour, *map(np.array, zip(*points))))
        if lines:
            drawn.append(as_svg(functools.partial(_draw_curves, title, limits, lines), PANEL))
    return drawn


def _draw_curves(title: str, limits: Range, lines: Sequence[tuple[Any, ...]], figure: Figure) -> None:
    axes = figure.add_subplot()
    for label, colour, steps, values in lines:
        # A single step would be an invisible line.
        marker = "o" if len(steps) == 1 else ""
        axes.plot(steps, values, color=colour, alpha=0.3, linewidth=0.8)
        axes.plot(steps, _smooth(values), color=colour, linewidth=1.8, marker=marker, label=label, clip_on=False)
    if len(lines) > 1:
        figure.legend(loc="outside lower center", ncols=3, fontsize=8, handlelength=1.2)
    every = np.concatenate([values for *_, values in lines])
    low, high = float(every.min()), float(every.max())
    if limits == "share":
        _share_axis(axes)
    elif limits == "small share":
        axes.set_ylim(0, max(1.1 * high, 0.01))
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    elif limits == "from 0" and low >= 0:
        axes.set_ylim(0, 1.1 * high or 1.0)
    elif high - low < 1e-3 * max(abs(low), abs(high)):
        # Values that differ only in the last digits are plotted as a constant.
        axes.set_ylim(low - 0.05 * abs(low), high + 0.05 * abs(high))
    axes.set_title(title)
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.set_xlabel("step")
    axes.grid(axis="y", color=GRID)


def as_svg(draw: Callable[[Figure], None], inches: tuple[float, float]) -> str:
    """Return the figure that ``draw`` fills as an SVG element; the text is the same in every process."""
    named = draw.func if isinstance(draw, functools.partial) else draw
    with mpl.rc_context({**STYLE, "svg.hashsalt": getattr(named, "__qualname__", "")}):
        figure = Figure(figsize=inches, layout="constrained")
        draw(figure)
        stream = io.StringIO()
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    text = stream.getvalue()
    return text[text.index("<svg") :].strip()


def _ramp(count: int) -> np.ndarray:
    """Return ``count`` ordered colours from light to dark; the lightest is still legible."""
    return mpl.colormaps["viridis_r"](np.linspace(0.3, 1.0, max(count, 1)))


def _share_axis(axes: Axes) -> None:
    """Set the vertical axis to 0 to 100 %, without clipping lines at the limits."""
    axes.set_ylim(0, 1)
    for line in axes.lines:
        line.set_clip_on(False)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.grid(axis="y", color=GRID)


def _heat(
    figure: Figure,
    axes: Axes,
    values: np.ndarray,
    edges: np.ndarray,
    colours: str,
    labels: Sequence[str],
    label: str,
    highest: float | None = None,
) -> None:
    """Draw a heat map of ``values`` [rows, windows] over the steps; NaN cells are blank."""
    top = highest if highest is not None else max(float(np.nanmax(values)), 1e-9)
    mesh = axes.pcolormesh(
        edges - 0.5,
        np.arange(len(values) + 1),
        np.ma.masked_invalid(values),
        cmap=colours,
        vmin=0,
        vmax=top,
        rasterized=True,
    )
    # Every row has a label; of many, only some are shown.
    shown = range(0, len(labels), math.ceil(len(labels) / 7))
    axes.set_yticks([row + 0.5 for row in shown], [shorten(labels[row], LABEL) for row in shown])
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.set_xlabel("step")
    bar = figure.colorbar(mesh, ax=axes, label=label, pad=0.015, format=PercentFormatter(1.0, decimals=0))
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]


def _windows(rows: Sequence[Row]) -> np.ndarray:
    """Return the edges [windows + 1] of at most `WINDOWS` equal windows over the steps, in whole numbers."""
    first, last = min(row["step"] for row in rows), max(row["step"] for row in rows)
    width = math.ceil((last - first + 1) / WINDOWS)
    return np.arange(first, last + width + 1, width)


def _window(edges: np.ndarray, step: int) -> int:
    return int((step - edges[0]) // (edges[1] - edges[0]))


def _number_levels(values: Sequence[float]) -> tuple[np.ndarray, list[str]]:
    """Assign numbers to rows of a heat map: one row per whole number or per value if there are few, else `LEVELS` equal
    intervals.

    Returns:
        The row of each value, int[values], and the labels of the rows from the bottom.
    """
    distinct = sorted(set(values))
    low, high = distinct[0], distinct[-1]
    if all(isinstance(value, int) for value in distinct) and high - low < LISTED:
        return np.array([value - low for value in values]), [str(value) for value in range(int(low), int(high) + 1)]
    if len(distinct) <= LISTED // 2 or high <= low:
        return np.searchsorted(distinct, values), [f"{value:.3g}" for value in distinct]
    edges = np.linspace(low, high, LEVELS + 1)
    levels = np.clip(np.searchsorted(edges + 1e-9 * (high - low), values, side="right") - 1, 0, LEVELS - 1)
    return levels, [f"{a:.2g}–{b:.2g}" for a, b in itertools.pairwise(edges)]


def _axis_levels(rows: Sequence[Row], name: str) -> tuple[np.ndarray, list[str]]:
    """Assign the proposals' values on one axis to rows of a heat map; see `_number_levels` for the result."""
    values = [row["params"][name] for row in rows]
    distinct = set(values)
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in distinct):
        return _number_levels(values)
    # The order of choices on the axis follows from their coordinate in the unit cube.
    place = {row["params"][name]: dict(zip(row["params"], row.get("unit") or ())).get(name, 0.0) for row in rows}
    order = sorted(distinct, key=lambda value: (place[value], str(value)))
    return np.array([order.index(value) for value in values]), [str(value) for value in order]


def _smooth(values: np.ndarray) -> np.ndarray:
    """Return the centred moving mean over a twentieth of the run; the window shrinks at the ends."""
    half = len(values) // 40
    # Sums of differences from the first value, so that a constant stays exactly constant.
    total = np.concatenate([[0.0], np.cumsum(values - values[0])])
    index = np.arange(len(values))
    low, high = np.maximum(index - half, 0), np.minimum(index + half + 1, len(values))
    return values[0] + (total[high] - total[low]) / (high - low)


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
