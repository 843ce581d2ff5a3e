"""Tables and curves of ``palaestra bench models``."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ....errors import shorten

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .command import CaseRun

COLUMNS = 3  # panels in a row of the figure
SHOWN = 240  # characters of a question or an answer


def format_cases(runs: Sequence[CaseRun]) -> str:
    """One row a run: success on held-out tasks before and after, in percent with 95 % intervals."""
    titles = "model | case | environment | seed | sampled, before | after | greedy, before | after | steps | CPU min"
    lines = [f"| {titles} |", "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for run in runs:
        first, last = run.evaluations[0], run.evaluations[-1]
        rise = rises(first, last)
        after = _percent(last["success"], last["ci"])
        cells = [
            run.model,
            run.case.about,
            f"`{run.case.env}`",
            str(run.seed),
            _percent(first["success"], first["ci"]),
            f"**{after}**" if rise else after,
            _percent(first["greedy_success"], first["greedy_ci"]),
            _percent(last["greedy_success"], last["greedy_ci"]),
            str(last["step"]),
            f"{run.processor_s / 60:.0f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def rises(first: Mapping[str, Any], last: Mapping[str, Any]) -> bool:
    """True if sampled success rose by ten points or more, with intervals apart."""
    return last["success"] - first["success"] >= 0.1 and last["ci"][0] > first["ci"][1]


def _percent(mean: float, interval: Sequence[float]) -> str:
    return f"{100 * mean:.0f} [{100 * interval[0]:.0f}, {100 * interval[1]:.0f}]"


def format_answers(run: CaseRun) -> str:
    """Held-out questions with the likeliest answers of the model before and after."""
    lines = [f"{run.model}, {run.case.about}:", "", "| question | before | after |", "| --- | --- | --- |"]
    lines += [
        f"| {_cell(row['question'])} | {_played(row['before'])} | {_played(row['after'])} |" for row in run.answers
    ]
    return "\n".join(lines)


def _played(answer: Mapping[str, Any]) -> str:
    text = " / ".join(answer["actions"]) or "(nothing)"
    return f"{_cell(text)} {'✓' if answer['success'] else '✗'}"


def _cell(text: str) -> str:
    return "`" + shorten(" ".join(text.split()), SHOWN).replace("`", "'").replace("|", "\\|") + "`"


def format_suite(name: str, scores: Mapping[str, Mapping[str, Any]]) -> str:
    """Success of each player on each environment of a suite, in percent.

    Args:
        scores: player -> environment -> its row of a suite report, with "success".
    """
    envs = list(dict.fromkeys(env for rows in scores.values() for env in rows))
    lines = [f"| suite {name} | {' | '.join(scores)} |", f"| --- |{' ---: |' * len(scores)}"]
    for env in envs:
        cells = (f"{100 * rows[env]:.0f}" if rows.get(env) is not None else "–" for rows in scores.values())
        lines.append(f"| `{env}` | {' | '.join(cells)} |")
    means = (f"{100 * sum(rows.values()) / len(rows):.1f}" for rows in scores.values())
    lines.append(f"| mean | {' | '.join(means)} |")
    return "\n".join(lines)


def draw_curves(runs: Sequence[CaseRun]) -> str:
    """Draw a panel for each case: held-out success of each model and seed, with intervals, over the steps; as SVG."""
    from ...report_plots import as_svg

    panels: dict[str, list[CaseRun]] = defaultdict(list)
    for run in runs:
        panels[run.case.name].append(run)
    rows = -(-len(panels) // COLUMNS)
    return as_svg(functools.partial(_fill, panels), (3.2 * min(COLUMNS, len(panels)), 2.2 * rows))


def _fill(panels: Mapping[str, Sequence[CaseRun]], figure: Figure) -> None:
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    models = list(dict.fromkeys(run.model for runs in panels.values() for run in runs))
    colours = dict(zip(models, ("#1f6f8b", "#b8562f", "#6b4f9a", "#4d7c3f")))
    width = min(COLUMNS, len(panels))
    for place, (name, runs) in enumerate(panels.items()):
        axes = figure.add_subplot(-(-len(panels) // width), width, place + 1)
        for run in runs:
            steps = [row["step"] for row in run.evaluations]
            colour = colours.get(run.model, "#22303c")
            low, high = zip(*(row["ci"] for row in run.evaluations))
            axes.fill_between(steps, low, high, color=colour, alpha=0.12, linewidth=0)
            axes.plot(steps, [row["success"] for row in run.evaluations], color=colour, label=run.model, linewidth=1.4)
        axes.set_title(name)
        axes.set_ylim(0, 1)
        axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
        if not place:
            seen = dict(zip(*reversed(axes.get_legend_handles_labels())))
            axes.legend(seen.values(), seen.keys(), fontsize=7)
