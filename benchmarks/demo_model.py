"""Demonstration on a pretrained model: sums by GRPO, held-out success before and after, and answers to read."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..scripts.train import read_config, train
from .harness import make_table, read_lines
from .models.answers import keep_answers
from .models.cases import CASES

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

ANSWERS = 5


def show_model(model: str, seed: int, out: Path, steps: int | None, console: Console) -> int:
    """Train a model on sums of two one-digit numbers, and print its success and some answers before and after.

    Args:
        model: a registered name, a folder, a hub id or a .gguf file.
        out: folder for the run.
        steps: number of training steps; None takes the steps of the case "sums" of `palaestra bench models`.

    Returns:
        The exit code of the training.
    """
    begun = time.monotonic()
    arguments = CASES["sums"].arguments(model, seed, steps=steps)
    config = read_config(arguments)  # reports a missing model before torch is loaded
    from ..agents.grpo.learner import Learner

    console.print(f"palaestra train {shlex.join([*arguments, '--out', str(out)])}", soft_wrap=True, highlight=False)
    if code := train(Learner.start(out, config)):
        return code
    console.print(success_table(read_lines(out / "evaluations.jsonl")))
    console.print(answer_table(keep_answers(out, ANSWERS)))
    console.print(f"{time.monotonic() - begun:.0f} s. {out / 'report.html'}", soft_wrap=True, highlight=False)
    return 0


def success_table(evaluations: Sequence[Mapping[str, Any]]) -> Table:
    """Make a table of held-out success at each evaluation of a run, sampled and greedy."""
    rows = []
    for row in evaluations:
        low, high = row["ci"]
        sampled = f"{row['success']:.0%} [{100 * low:.0f}, {100 * high:.0f}]"
        rows.append((str(row["step"]), str(row["episodes"]), sampled, f"{row['greedy_success']:.0%}"))
    head = ("step", "tasks", "sampled", "likeliest answer")
    table = make_table(head, rows, text=0, title="success on held-out tasks")
    table.caption = "in brackets: 95 % confidence"
    return table


def answer_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Make a table of questions with the model's greedy answers before and after; right answers are green."""
    from rich.text import Text

    table = make_table(("question", "right", "before", "after"), title="held-out questions")
    table.show_lines = True
    for row in rows:
        cells = [
            Text(" / ".join(row[side]["actions"]), style="green" if row[side]["success"] else "red")
            for side in ("before", "after")
        ]
        table.add_row(Text(row["question"]), Text(str(row["reference"] or "")), *cells)
    return table
