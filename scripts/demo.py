"""The main job in a few minutes on two cores: a tiny language model learns arithmetic under a teacher.

The model is warmed up on oracle solutions once. From there GRPO trains it twice with the same budget, side by side,
one core each: under ALP-GMM and under a uniform teacher. The table shows success on held-out tasks before and after.

examples:
  python -m palaestra.scripts.demo
  python -m palaestra.scripts.demo --seed 3 --out runs/demo-3
"""

from __future__ import annotations

import json
import multiprocessing
import queue
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tyro

from ..agents.grpo.config import TrainConfig, WarmUp
from ..errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

TEACHERS = {"alp-gmm": "GRPO, ALP-GMM teacher", "random": "GRPO, uniform teacher"}

BASE = TrainConfig(
    env="palaestra/Arithmetic-v0",
    axes={"terms": [2, 5], "digits": 1, "operations": ["+"]},
    recipe="grpo",
    kl=0.0,
    steps=400,
    prompts=32,
    samples=16,
    lr=3e-4,
    max_new_tokens=8,
    max_episode_tokens=8,
    context=64,
    eval_every=50,
    eval_episodes=250,
    final_episodes=1000,
    checkpoint_every=100,
    warmup=WarmUp(steps=1500, target=0.42),
)


@dataclass(frozen=True)
class DemoOptions:
    seed: int = 0
    """Root of all randomness."""
    out: Path = Path("runs/demo")
    """Folder for the three runs; new or empty."""
    steps: int = BASE.steps
    """GRPO steps of each training run."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demonstration and return the exit code."""
    from rich.console import Console

    options = tyro.cli(DemoOptions, args=argv, prog="demo", description=__doc__)
    if options.out.exists() and any(options.out.iterdir()):
        raise InputError(f"the folder {str(options.out)!r} is not empty; choose another --out or remove it.")
    console = Console()
    begun = time.monotonic()
    warm = options.out / "warm-up"
    _follow({"warm-up": (warm, replace(BASE, seed=options.seed, steps=0, threads=2))})
    runs = {
        title: (
            options.out / teacher,
            replace(
                BASE,
                seed=options.seed,
                teacher=teacher,
                model=str(warm),
                warmup=WarmUp(0),
                steps=options.steps,
                threads=1,
            ),
        )
        for teacher, title in TEACHERS.items()
    }
    _follow(runs)
    columns = {"warmed up": _last_evaluation(warm)} | {title: _last_evaluation(run) for title, (run, _) in runs.items()}
    console.print(_table(columns, options.seed))
    lift = columns[TEACHERS["alp-gmm"]]["success"] - columns["warmed up"]["success"]
    console.print(f"GRPO added {100 * lift:+.0f} points in {time.monotonic() - begun:.0f} s, warm-up included.")
    for title, (run, _) in runs.items():
        console.print(f"{title}: {run / 'report.html'}")
    return 0


def _follow(runs: dict[str, tuple[Path, TrainConfig]]) -> None:
    """Run each configuration in a process of its own, all at once, and draw their progress."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    context = multiprocessing.get_context("spawn")
    messages = context.Queue()
    processes = {
        title: context.Process(target=_train, args=(title, folder, config, messages), daemon=True)
        for title, (folder, config) in runs.items()
    }
    for process in processes.values():
        process.start()
    columns = (
        TextColumn("{task.description:21}"),
        BarColumn(20),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        TimeRemainingColumn(),
    )
    running = set(processes)
    with Progress(*columns, refresh_per_second=4) as bars:
        tasks = {title: bars.add_task(title, total=None, note="starting") for title in processes}
        smooth: dict[str, float] = {}
        while running:
            try:
                message = messages.get(timeout=1.0)
            except queue.Empty:
                for title in running:
                    if processes[title].exitcode:
                        raise RuntimeError(
                            f"{title}: its process ended with code {processes[title].exitcode}"
                        ) from None
                continue
            title, phase, *rest = message
            if phase == "done":
                # The warm-up ends when its target is met, before its bound on steps.
                bars.update(tasks[title], total=bars.tasks[tasks[title]].completed)
                running.discard(title)
                continue
            if phase == "failed":
                raise RuntimeError(f"{title}: {rest[0]}")
            if phase == "evaluate":
                continue
            step, steps, values = rest
            if "success" in values:
                # The warm-up measures it now and then on many episodes, a training step each time on few.
                share = 1.0 if phase == "warmup" else 0.1
                success = float(values["success"])
                smooth[title] = (1 - share) * smooth.get(title, success) + share * success
            note = f"success {smooth[title]:.0%}" if title in smooth else ""
            if "tokens_per_s" in values:
                note += f" · {values['tokens_per_s']:,.0f} tokens/s"
            bars.update(tasks[title], total=steps, completed=step, note=note)
    for process in processes.values():
        process.join()


def _train(title: str, folder: Path, config: TrainConfig, messages: Any) -> None:
    """One run, in a process of its own; tells the parent what happens."""
    from ..agents.grpo.learner import Learner, TrainingProgress

    def tell(progress: TrainingProgress) -> None:
        messages.put((title, progress.phase, progress.step, progress.steps, progress.values))

    try:
        learner = Learner.start(folder, config)
        # The terminal is the parent's; what a person should know is in the report.
        learner.run(tell, lambda sentence: None)
        if config.steps:
            from .report import write_report

            write_report(folder)
        messages.put((title, "done"))
    except Exception as error:
        messages.put((title, "failed", f"{type(error).__name__}: {error}"))
        raise


def _last_evaluation(run: Path) -> dict[str, Any]:
    return json.loads((run / "evaluations.jsonl").read_text(encoding="utf-8").splitlines()[-1])


def _table(columns: dict[str, dict[str, Any]], seed: int) -> Table:
    """Success on held-out tasks by difficulty, one column a model, with 95 % confidence intervals."""
    from rich.table import Table

    episodes = next(iter(columns.values()))["episodes"]
    table = Table(title=f"success on {episodes} held-out tasks, seed {seed}", caption="in brackets: 95 % confidence")
    table.add_column("difficulty")
    for name in columns:
        table.add_column(name, justify="right")
    levels = sorted({(part["low"], part["high"]) for column in columns.values() for part in column["by_difficulty"]})
    for low, high in levels:
        cells = []
        for column in columns.values():
            found = [part for part in column["by_difficulty"] if (part["low"], part["high"]) == (low, high)]
            cells.append(_percent(found[0]) if found else "–")
        table.add_row(f"{low:.1f} – {high:.1f}", *cells)
    table.add_section()
    table.add_row("all", *(_percent(column) for column in columns.values()))
    return table


def _percent(part: dict[str, Any]) -> str:
    low, high = part["ci"]
    return f"{100 * part['success']:.0f} % [{100 * low:.0f}, {100 * high:.0f}]"


if __name__ == "__main__":
    from .cli import run_guarded

    sys.exit(run_guarded(main, sys.argv[1:]))
