"""Figure of results for a paper: success rates with intervals, by environment, difficulty and agent.

report = palaestra.evaluate("random", "palaestra/Arithmetic-v0")
draw_figure(report.rows(), "success.pdf")
"""

from __future__ import annotations

import importlib.util
import io
import math
from collections.abc import Sequence
from pathlib import Path

from ...errors import InputError, MissingExtra
from ..atomic import check_output, write_atomically
from .formats import Row

KINDS = (".svg", ".pdf", ".png")
_ROW, _WIDTH = 0.28, 6.0  # inches


def check_figure(path: Path | None) -> None:
    """Check, before anything is computed, that a figure can be written to ``path``; None passes.

    Raises:
        InputError: the ending is unknown, or the path cannot be written.
        MissingExtra: matplotlib is not installed.
    """
    if path is None:
        return
    if path.suffix.lower() not in KINDS:
        raise InputError(f"--figure writes {', '.join(KINDS[:-1])} or {KINDS[-1]}, not {str(path)!r}.")
    check_output(path, "--figure")
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingExtra("a figure", "train")


def draw_figure(rows: Sequence[Row], path: str | Path) -> None:
    """Draw the success rate of each row, or the difference in a comparison, as a point with its 95 % interval.

    Agents have different colours.

    Args:
        rows: rows of a `Report`, a `SuiteReport`, a `PairedComparison` or a sweep; rows without a value are left out.
        path: the file; its ending, .svg, .pdf or .png, sets the format. The same rows give the same bytes.

    Raises:
        InputError: no row has a value, or the ending is unknown.
        MissingExtra: matplotlib is not installed.
    """
    path = Path(path)
    check_figure(path)
    import matplotlib as mpl
    from matplotlib.figure import Figure

    shown = "difference" if any("difference" in row for row in rows) else "success"
    drawn = [row for row in rows if math.isfinite(row.get(shown, math.nan))]
    if not drawn:
        raise InputError(f"there is no {shown} to draw.")
    agents = list(dict.fromkeys(str(row.get("agent", "")) for row in drawn))
    labels = list(dict.fromkeys(map(_label, drawn)))
    with mpl.rc_context({"svg.hashsalt": "palaestra", "svg.fonttype": "none", "pdf.fonttype": 42, "font.size": 9}):
        figure = Figure(figsize=(_WIDTH, 0.9 + _ROW * len(labels) * max(1.0, 0.6 * len(agents))), layout="constrained")
        axes = figure.add_subplot()
        for number, agent in enumerate(agents):
            own = [row for row in drawn if str(row.get("agent", "")) == agent]
            shift = (number - (len(agents) - 1) / 2) * 0.7 / len(agents)
            low, means, high = ([100 * row[f"{shown}{end}"] for row in own] for end in ("_low", "", "_high"))
            spread = [
                [mean - bound for mean, bound in zip(means, low)],
                [bound - mean for mean, bound in zip(means, high)],
            ]
            places = [labels.index(_label(row)) + shift for row in own]
            axes.errorbar(means, places, xerr=spread, fmt="o", markersize=4, capsize=2, linewidth=1.2, label=agent)
        axes.set_yticks(range(len(labels)), labels)
        axes.set_ylim(len(labels) - 0.5, -0.5)
        if shown == "success":
            axes.set_xlim(-2, 102)
            axes.set_xlabel("success, % (95 % intervals)")
        else:
            axes.axvline(0, linewidth=0.8, color="grey")
            axes.set_xlabel("second less first, points of success (95 % intervals)")
        axes.grid(axis="x", linewidth=0.4, alpha=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        if len(agents) > 1:
            figure.legend(loc="outside upper center", ncols=min(3, len(agents)), frameon=False)
        stream = io.BytesIO()
        undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}, ".png": {}}[path.suffix.lower()]
        figure.savefig(stream, format=path.suffix[1:].lower(), metadata=undated, dpi=200)
    write_atomically(path, stream.getvalue())


def _label(row: Row) -> str:
    name = str(row["environment"]).removeprefix("palaestra/")
    difficulty = row.get("difficulty", "all")
    return name if difficulty == "all" else str(difficulty)
