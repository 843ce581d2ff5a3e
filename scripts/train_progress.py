"""Bars on the terminal for a run: one for the warm-up, one for training."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

    from ..agents.grpo.run.observers import TrainingProgress


class ProgressBars:
    """Observer that shows the learner's progress as bars: one for the warm-up, one for training."""

    def __init__(self, bars: Bars):
        self._bars = bars
        self._tasks: dict[str, Any] = {}
        self._success: dict[str, float] = {}

    def __call__(self, progress: TrainingProgress) -> None:
        if progress.phase == "evaluate":
            success = progress.values["success"]
            measured = "success unknown" if math.isnan(success) else f"{success:.0%}"
            self._bars.console.print(f"step {progress.step}: {measured} of held-out tasks")
            return
        if progress.phase not in self._tasks:
            for task in self._tasks.values():
                # A warm-up ends when its target is met, before its bound on steps.
                self._bars.update(task, total=self._bars.tasks[task].completed)
                self._bars.stop_task(task)
            self._tasks[progress.phase] = self._bars.add_task(progress.phase, total=progress.steps, note="")
        values = progress.values
        if "success" in values:
            # The warm-up measures success rarely, but on many episodes, so the latest value is shown; a training step
            # measures success on few episodes, so a running mean is shown.
            share = 1.0 if progress.phase == "warmup" else 0.1
            before = self._success.get(progress.phase, values["success"])
            self._success[progress.phase] = (1 - share) * before + share * values["success"]
            if progress.phase == "warmup" and not self._bars.console.is_terminal:
                # Output to a file has no moving bars.
                measured = f"loss {values['loss']:.3f}, {values['success']:.0%} of training tasks"
                self._bars.console.print(f"warm-up step {progress.step}: {measured}")
        parts = [f"success {self._success[progress.phase]:.0%}"] if progress.phase in self._success else []
        for unit in ("tokens", "steps"):
            parts += [f"{rate:,.0f} {unit}/s"] if (rate := values.get(f"{unit}_per_s")) else []
        self._bars.update(self._tasks[progress.phase], completed=progress.step, note=" · ".join(parts))


@contextmanager
def show_bars(console: Any) -> Iterator[Bars]:
    """Show bars until the block ends."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    note = TextColumn("{task.fields[note]}")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), note, TimeRemainingColumn())
    with Progress(*columns, console=console, refresh_per_second=4) as bars:
        yield bars
