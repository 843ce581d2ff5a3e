"""Tables and curves of ``palaestra bench models``."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import shorten
from ...estimates import estimate_mean
from ...teachers.benchmarks.table import UNIFORM
from ..harness import format_markdown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .case_runs import CaseRun

COLUMNS = 3  # panels in a row of the figure
SHOWN = 240  # characters of a question or an answer


def format_cases(runs: Sequence[CaseRun]) -> str:
    """Format one row per run: success on held-out tasks before and after, in percent with 95 % intervals."""
    shares = ("sampled, before", "after", "greedy, before", "after")
    head = ("model", "case", "environment", "seed", *shares, "steps", "CPU min")
    rows = []
    for run in runs:
        first, last = run.evaluations[0], run.evaluations[-1]
        after = _percent(last["success"], last["ci"])
        sampled = "ended without signal" if run.ended_early else f"**{after}**" if rises(first, last) else after
        greedy = "–" if run.ended_early else _percent(last["greedy_success"], last["greedy_ci"])
        names = run.model, run.case.about, f"`{run.case.env}`", str(run.seed)
        success = _percent(first["success"], first["ci"]), sampled
        greedily = _percent(first["greedy_success"], first["greedy_ci"]), greedy
        rows.append((*names, *success, *greedily, str(len(run.metrics)), f"{run.processor_s / 60:.0f}"))
    return format_markdown(head, rows, align="lll")


def rises(first: Mapping[str, Any], last: Mapping[str, Any]) -> bool:
    """Return True if sampled success rose by ten points or more, with disjoint intervals."""
    return last["success"] - first["success"] >= 0.1 and last["ci"][0] > first["ci"][1]


def _percent(mean: float, interval: Sequence[float]) -> str:
    return f"{100 * mean:.0f} [{100 * interval[0]:.0f}, {100 * interval[1]:.0f}]"


def format_answers(run: CaseRun) -> str:
    """Format held-out questions with the greedy answers of the model before and after training."""
    rows = [(_cell(row["question"]), _played(row["before"]), _played(row["after"])) for row in run.answers]
    return f"{run.model}, {run.case.about}:\n\n{format_markdown(('question', 'before', 'after'), rows, align='lll')}"


def _played(answer: Mapping[str, Any]) -> str:
    text = " / ".join(answer["actions"]) or "(nothing)"
    return f"{_cell(text)} {'✓' if answer['success'] else '✗'}"


def _cell(text: str) -> str:
    return "`" + shorten(" ".join(text.split()), SHOWN).replace("`", "'").replace("|", "\\|") + "`"


def format_teachers(runs: Sequence[CaseRun]) -> str:
    """Format the mean held-out success of each teacher at equal numbers of sampled tokens, and its mean over the run up
    to there, with differences to uniform choice, paired by seed, in points with 95 % intervals.

    All runs of a model and case are compared at the smallest total number of tokens among them.
    """
    rows = []
    cases: dict[tuple[str, str], list[CaseRun]] = defaultdict(list)
    for run in runs:
        cases[run.model, run.case.name].append(run)
    for (model, case), members in cases.items():
        budget = min(_tokens(run)[-1] for run in members)
        curves = {(run.teacher, run.seed): _success_up_to(run, budget) for run in members}
        for teacher in dict.fromkeys(run.teacher for run in members):
            mine = {seed: curve for (name, seed), curve in curves.items() if name == teacher}
            cells = []
            for place in (0, 1):
                cells.append(f"{100 * np.mean([curve[place] for curve in mine.values()]):.0f}")
                pairs = [(curve, curves[UNIFORM, seed]) for seed, curve in mine.items() if (UNIFORM, seed) in curves]
                gain = estimate_mean([one[place] - other[place] for one, other in pairs]) if pairs else None
                text = "–"
                if gain is not None and teacher != UNIFORM:
                    interval = "" if gain.n == 1 else f" [{100 * gain.low:.0f}, {100 * gain.high:.0f}]"
                    text = f"{100 * gain.mean:+.0f}{interval}"
                cells.append(text)
            groups = np.mean(
                [1 - row["zero_variance_share"] for run in members if run.teacher == teacher for row in run.metrics]
            )
            rows.append((f"{model}, {case}", teacher, *cells, f"{groups:.0%}"))
    beside = ("success", "beside uniform", "over the run", "beside uniform", "mixed groups")
    return format_markdown(("model, case", "teacher", *beside), rows, align="ll")


def _tokens(run: CaseRun) -> list[float]:
    """Return the number of tokens sampled up to each evaluation."""
    steps = {row["step"]: row["tokens"] for row in run.metrics}
    return [float(sum(count for step, count in steps.items() if step <= row["step"])) for row in run.evaluations]


def _success_up_to(run: CaseRun, budget: float) -> tuple[float, float]:
    """Return the held-out success at ``budget`` sampled tokens, interpolated linearly, and its mean up to there."""
    tokens, success = np.array(_tokens(run)), np.array([row["success"] for row in run.evaluations])
    at_end = float(np.interp(budget, tokens, success))
    inside = tokens < budget
    x, y = np.append(tokens[inside], budget), np.append(success[inside], at_end)
    return at_end, float(np.trapezoid(y, x) / budget)


def format_suite(name: str, scores: Mapping[str, Mapping[str, Any]]) -> str:
    """Format the success of each player on each environment of a suite, in percent.

    Args:
        scores: player -> environment -> mean success.
    """
    envs = list(dict.fromkeys(env for rows in scores.values() for env in rows))
    rows = []
    for env in envs:
        cells = (f"{100 * found[env]:.0f}" if found.get(env) is not None else "–" for found in scores.values())
        rows.append((f"`{env}`", *cells))
    means = (f"{100 * sum(found.values()) / len(found):.1f}" for found in scores.values())
    return format_markdown((f"suite {name}", *scores), [*rows, ("mean", *means)])


def draw_curves(runs: Sequence[CaseRun]) -> str:
    """Draw a panel for each case as SVG: held-out success over the steps, with intervals, of each model and seed."""
    from ...scripts.report_plots import as_svg

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
