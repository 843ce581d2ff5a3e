"""The plots of a run's report: rewards, success, lengths, entropy and other measurements over the steps, success by
difficulty, and the tasks that the teacher sampled. Each is an SVG element as text, or "" if there are no data.
"""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

Row = dict[str, Any]

LEGEND_AT_RIGHT: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5), "frameon": False}
WINDOWS = 40  # columns of a heat map: enough to see a curriculum move, few enough for each to hold several groups
LEVELS = 10  # rows for an axis of many values
LISTED = 12  # an axis with no more values than this has a row for each

INK, FAINT, ACCENT, MISSING = "#22303c", "#b8c4ce", "#1f6f8b", "#eef1f4"
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
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
# Title of a panel -> the figures in it, each with its name in the legend; figures that a run lacks are left out.
PANELS: dict[str, dict[str, str]] = {
    "reward of an episode": {"reward": ""},
    "success in training": {"success": ""},
    "action tokens an episode": {"length": "mean", "length_p90": "90 % below", "length_max": "longest"},
    "groups without variance": {"zero_variance_share": "all", "solved_share": "solved", "failed_share": "failed"},
    "entropy (nats a token or action)": {"entropy": ""},
    "KL divergence (nats a token or action)": {"kl": ""},
    "share of tokens or actions clipped": {"clip_fraction": ""},
    "effective sample size, as a share": {"ess": ""},
    "gradient norm": {"grad_norm": ""},
    "tokens/s by phase": {"rollout_tokens_per_s": "rollout", "train_tokens_per_s": "training"},
}
# The same of students, which act without tokens.
STUDENT_PANELS: dict[str, dict[str, str]] = {
    "actions an episode": {"actions": ""},
    "bonus of an episode": {"bonus": ""},
    "value loss": {"value_loss": ""},
    "explained variance of the values": {"explained_variance": ""},
    "temporal-difference error": {"td_error": ""},
    "states in the table": {"states": ""},
    "environment steps/s": {"steps_per_s": ""},
}
LINES = (ACCENT, "#c8702a", "#7a5aa6")


def evaluation_lines(evaluations: Sequence[Row]) -> str:
    """Success on held-out tasks over the steps: all of them with the confidence band, and a line for each difficulty
    bin, or for each of several environments.
    """
    rows = [row for row in evaluations if _is_finite(row.get("success"))]
    if not rows:
        return ""

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        steps = [row["step"] for row in rows]
        # Of several environments, a line for each takes the place of those by difficulty.
        names = list(dict.fromkeys(name for row in rows for name in row.get("environments", ())))
        for name, colour in zip(names, mpl.color_sequences["tab10"] * math.ceil(len(names) / 10)):
            parts = [(row["step"], row.get("environments", {}).get(name, {}).get("success")) for row in rows]
            own = [part for part in parts if _is_finite(part[1])] or [(rows[0]["step"], math.nan)]
            axes.plot(*zip(*own), color=colour, linewidth=1.3, marker="o", markersize=2.5, label=name)
        found_bins = {(b["low"], b["high"]) for row in rows for b in row.get("by_difficulty", ())}
        bins = [] if names else sorted(found_bins)
        colours = mpl.colormaps["viridis_r"](np.linspace(0.15, 0.95, max(len(bins), 1)))
        for (low, high), colour in zip(bins, colours):
            found = [
                (row["step"], b["success"])
                for row in rows
                for b in row.get("by_difficulty", ())
                if (b["low"], b["high"]) == (low, high) and _is_finite(b.get("success"))
            ]
            label = f"difficulty {low:.2f}" if low == high else f"difficulty {low:.2f}–{high:.2f}"
            axes.plot(*zip(*found), color=colour, linewidth=1.3, marker="o", markersize=2.5, label=label)
        means = [row["success"] for row in rows]
        axes.plot(steps, means, color=INK, linewidth=2.2, marker="o", markersize=4, label="all")
        if greedy := [(row["step"], row["greedy_success"]) for row in rows if _is_finite(row.get("greedy_success"))]:
            axes.plot(*zip(*greedy), color=INK, linewidth=1.3, linestyle="--", label="all, greedy")
        bands = [(row["step"], *row["ci"]) for row in rows if all(map(_is_finite, row.get("ci") or (None,)))]
        if bands:
            at, low, high = zip(*bands)
            axes.fill_between(at, low, high, color=INK, alpha=0.12, linewidth=0)
        axes.set(ylim=(-0.02, 1.02), xlabel="step", ylabel="success")
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
        axes.grid(axis="y", color=MISSING)
        axes.legend(**LEGEND_AT_RIGHT)

    return as_svg(draw, (9.5, 3.4))


def training_heat(proposals: Sequence[Row]) -> str:
    """Success in training: difficulty (up) by step (right)."""
    rows = [row for row in proposals if _is_finite(row.get("difficulty")) and _is_finite(row.get("success"))]
    if not rows:
        return ""
    edges = _windows(rows)
    where = np.array([(_level(row["difficulty"]), _window(edges, row["step"])) for row in rows])
    weight = np.array([float(row.get("n") or 1) for row in rows])
    played, won = np.zeros((LEVELS, len(edges) - 1)), np.zeros((LEVELS, len(edges) - 1))
    np.add.at(played, tuple(where.T), weight)
    np.add.at(won, tuple(where.T), weight * [row["success"] for row in rows])
    share = np.divide(won, played, out=np.full_like(won, math.nan), where=played > 0)

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        _heat(figure, axes, share, edges, "viridis", "success", highest=1.0)
        _difficulty_ticks(axes)

    return as_svg(draw, (9.5, 2.9))


def sampled_heats(proposals: Sequence[Row]) -> str:
    """Tasks that the teacher sampled: for difficulty and each axis, the share of rollouts by value (up) and step
    (right).
    """
    rows = [row for row in proposals if isinstance(row.get("params"), dict)]
    if not rows:
        return ""
    edges = _windows(rows)
    columns = np.array([_window(edges, row["step"]) for row in rows])
    weight = np.array([float(row.get("n") or 1) for row in rows])
    panels: list[tuple[str, np.ndarray, np.ndarray, list[str]]] = []
    if all(_is_finite(row.get("difficulty")) for row in rows):
        levels = np.array([_level(row["difficulty"]) for row in rows])
        panels.append(("difficulty", np.arange(len(rows)), levels, []))
    # An axis that never varies says nothing about the teacher.
    # Of several environments, each has its own axes.
    for name in dict.fromkeys(name for row in rows for name in row["params"]):
        own = np.flatnonzero([name in row["params"] for row in rows])
        levels, labels = _axis_levels([rows[i] for i in own], name)
        if len(labels) > 1:
            panels.append((name, own, levels, labels))
    if not panels:
        return ""

    def draw(figure: Figure) -> None:
        grid = figure.subplots(math.ceil(len(panels) / 2), 2 if len(panels) > 1 else 1, squeeze=False).ravel()
        for axes, (name, own, levels, labels) in zip(grid, panels):
            height = len(labels) or LEVELS
            count = np.zeros((height, len(edges) - 1))
            np.add.at(count, (levels, columns[own]), weight[own])
            total = count.sum(axis=0, keepdims=True)
            share = np.divide(count, total, out=np.full_like(count, math.nan), where=total > 0)
            _heat(figure, axes, share, edges, "GnBu", "")
            axes.set_title(name)
            if labels:
                axes.set_yticks(np.arange(height) + 0.5, labels)
            else:
                _difficulty_ticks(axes)
        for axes in grid[len(panels) :]:
            axes.remove()

    return as_svg(draw, (9.5, 2.4 * math.ceil(len(panels) / 2)))


def pass_at_k_lines(metrics: Sequence[Row]) -> str:
    """Plot pass@k in training for each k with the intervals of its steps, both smoothed by a moving mean."""
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
        for (k, steps, values), colour in zip(found, mpl.colormaps["viridis_r"](np.linspace(0.15, 0.95, len(found)))):
            mean, low, high = map(_smooth, values)
            axes.fill_between(steps, low, high, color=colour, alpha=0.12, linewidth=0)
            # One step alone would be a line without length.
            axes.plot(steps, mean, color=colour, marker="o" if len(steps) == 1 else "", label=f"pass@{k}")
        axes.set(ylim=(-0.02, 1.02), xlabel="step", ylabel="tasks solved")
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
        axes.grid(axis="y", color=MISSING)
        axes.legend(*(part[::-1] for part in axes.get_legend_handles_labels()), **LEGEND_AT_RIGHT)

    return as_svg(draw, (9.5, 3.0))


def climb_lines(climbs: Mapping[str, Sequence[Row]]) -> str:
    """Rungs climbed over the attempts, a line for each run that counted them."""
    found = {name: [row for row in rows if _is_finite(row.get("rungs"))] for name, rows in climbs.items()}
    if not any(found.values()):
        return ""

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        for name, rows in found.items():
            axes.plot([r["attempts"] for r in rows], [r["rungs"] for r in rows], marker="o", markersize=4, label=name)
        axes.set(ylim=(0, None), xlabel="attempts", ylabel="rungs climbed")
        axes.grid(axis="y", color=MISSING)
        axes.legend(**LEGEND_AT_RIGHT)

    return as_svg(draw, (9.5, 3.0))


def curves(metrics: Sequence[Row], timings: Sequence[Row] = ()) -> str:
    """The learner's measurements over the steps: each step faint, and the mean of its neighbourhood in front."""
    found = []
    for title, figures in (PANELS | STUDENT_PANELS).items():
        lines = []
        for (name, label), colour in zip(figures.items(), LINES):
            points = [(row["step"], row[name]) for row in (*metrics, *timings) if _is_finite(row.get(name))]
            if points:
                lines.append((label, colour, *map(np.array, zip(*points))))
        if lines:
            found.append((title, lines))
    if not found:
        return ""

    def draw(figure: Figure) -> None:
        grid = figure.subplots(math.ceil(len(found) / 3), 3, squeeze=False).ravel()
        for axes, (title, lines) in zip(grid, found):
            for label, colour, steps, values in lines:
                axes.plot(steps, values, color=colour, alpha=0.3, linewidth=0.8)
                axes.plot(steps, _smooth(values), color=colour, linewidth=1.8, label=label)
            if len(lines) > 1:
                axes.legend(edgecolor="none", fontsize=7, labelspacing=0.2, handlelength=1.2)
            axes.set_title(title)
            axes.set_xlabel("step")
            axes.grid(axis="y", color=MISSING)
        for axes in grid[len(found) :]:
            axes.remove()

    return as_svg(draw, (9.5, 2.1 * math.ceil(len(found) / 3)))


def as_svg(draw: Callable[[Figure], None], inches: tuple[float, float]) -> str:
    """The figure that ``draw`` fills, as an SVG element that scales with the page and is the same in every process."""
    with mpl.rc_context({**STYLE, "svg.hashsalt": draw.__qualname__}):
        figure = Figure(figsize=inches, layout="constrained")
        draw(figure)
        stream = io.StringIO()
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    text = stream.getvalue()
    return text[text.index("<svg") :].strip()


def _heat(
    figure: Figure,
    axes: Axes,
    values: np.ndarray,
    edges: np.ndarray,
    colours: str,
    label: str,
    highest: float | None = None,
) -> None:
    """A map of ``values`` [rows, windows] over the steps; cells without data are grey."""
    colormap = mpl.colormaps[colours].with_extremes(bad=MISSING)
    top = highest if highest is not None else max(float(np.nanmax(values)), 1e-9)
    mesh = axes.pcolormesh(
        edges - 0.5,
        np.arange(len(values) + 1),
        np.ma.masked_invalid(values),
        cmap=colormap,
        vmin=0,
        vmax=top,
        rasterized=True,
    )
    axes.set_xlabel("step")
    bar = figure.colorbar(mesh, ax=axes, label=label, pad=0.015, format=PercentFormatter(1.0, decimals=0))
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]


def _difficulty_ticks(axes: Axes) -> None:
    axes.set_yticks(np.linspace(0, LEVELS, 3), ["0", "0.5", "1"])
    axes.set_ylabel("difficulty")


def _windows(rows: Sequence[Row]) -> np.ndarray:
    """Edges [windows + 1] of equal, whole-numbered windows over the steps."""
    first, last = min(row["step"] for row in rows), max(row["step"] for row in rows)
    width = math.ceil((last - first + 1) / WINDOWS)
    return np.arange(first, last + width + 1, width)


def _window(edges: np.ndarray, step: int) -> int:
    return int((step - edges[0]) // (edges[1] - edges[0]))


def _level(share: float) -> int:
    return min(int(share * LEVELS + 1e-9), LEVELS - 1)


def _axis_levels(rows: Sequence[Row], name: str) -> tuple[np.ndarray, list[str]]:
    """The row of the map for each proposal's value on one axis [proposals], and the labels of the rows from below."""
    values = [row["params"][name] for row in rows]
    distinct = set(values)
    if all(isinstance(value, int | float) for value in distinct):
        low, high = min(distinct), max(distinct)
        if all(isinstance(value, int) for value in distinct) and high - low < LISTED:
            return np.array([value - low for value in values]), [str(value) for value in range(low, high + 1)]
        if len(distinct) > 1:
            edges = np.linspace(low, high, LEVELS + 1)
            levels = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, LEVELS - 1)
            return levels, [f"{a:.3g}–{b:.3g}" for a, b in itertools.pairwise(edges)]
    # The order of choices on the axis follows from their coordinate in the unit cube.
    place = {row["params"][name]: dict(zip(row["params"], row.get("unit") or ())).get(name, 0.0) for row in rows}
    order = sorted(distinct, key=lambda value: (place[value], str(value)))
    return np.array([order.index(value) for value in values]), [str(value) for value in order]


def _smooth(values: np.ndarray) -> np.ndarray:
    """Centred moving mean over a twentieth of the run; the window shrinks at the ends."""
    half = len(values) // 40
    # Sums of what differs from the first value, so that a constant stays one to the last digit.
    total = np.concatenate([[0.0], np.cumsum(values - values[0])])
    index = np.arange(len(values))
    low, high = np.maximum(index - half, 0), np.minimum(index + half + 1, len(values))
    return values[0] + (total[high] - total[low]) / (high - low)


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
