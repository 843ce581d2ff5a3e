"""Demonstration in a few minutes on two cores: a tiny language model climbs a ladder of tasks under a teacher.

The model is warmed up on solutions of the lowest rungs. From there GRPO trains it twice with the same number of
attempts, in parallel, one core each: on tasks that the teacher "palaestra" chooses and on tasks drawn uniformly. The
result shows the rungs that each run climbed, and the share of groups of attempts from which GRPO could learn. The
ladder, words of growing length, is made for such comparisons: each rung prepares for the next.

With --task arithmetic the model learns sums under the teacher ALP-GMM and a uniform one, which are about equal there,
and the table shows success on held-out sums before and after.

With --model a pretrained model learns sums of two one-digit numbers; the tables show held-out success before, during
and after training, and five answers before and after.

examples:
  python -m palaestra.benchmarks.demo
  python -m palaestra.benchmarks.demo --seed 3 --out runs/demo-3
  python -m palaestra.benchmarks.demo --task arithmetic
  python -m palaestra.benchmarks.demo --model smollm2-135m
"""

from __future__ import annotations

import json
import multiprocessing
import queue
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import tyro

from ..agents.atomic import check_output, write_atomically
from ..agents.grpo.config import TrainConfig, WarmUp
from ..agents.grpo.run.observers import TrainingProgress
from ..errors import InputError
from .harness import check_least, make_table, read_lines
from .ladders import LADDERS
from .teachers.language_model import SETTINGS, LadderRun, climb, find_warm_model

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

LADDER = "NextDigits"
CLIMBERS = {"palaestra": "teacher", "random": "uniform"}
TEACHERS = {"alp-gmm": "GRPO, ALP-GMM teacher", "random": "GRPO, uniform teacher"}

ARITHMETIC = TrainConfig(
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
    task: Literal["ladder", "arithmetic"] = "ladder"
    """Task to learn: "ladder", words of growing length, where each rung prepares for the next; or sums of 2 to 5
    digits."""
    model: str | None = None
    """A pretrained model instead of the tiny one, such as smollm2-135m, trained on sums; about five minutes."""
    seed: int = 2
    """Seed of the runs."""
    out: Path = Path("runs/demo")
    """Folder for the runs; must be new or empty."""
    steps: int | None = None
    """GRPO steps of each training run; by default 300 on the ladder, 400 on arithmetic, and 20 with --model."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demonstration and return the exit code."""
    from rich.console import Console

    options = tyro.cli(DemoOptions, args=argv, prog="demo", description=__doc__)
    check_output(options.out, "--out", folder=True)
    if options.out.exists() and any(options.out.iterdir()):
        raise InputError(f"the folder {str(options.out)!r} is not empty; choose another --out or remove it.")
    check_least(options, 1, "steps")
    if options.model is not None:
        from .demo_model import show_model

        return show_model(options.model, options.seed, options.out, options.steps, Console())
    show = show_ladder if options.task == "ladder" else show_arithmetic
    show(options, Console())
    return 0


def show_ladder(options: DemoOptions, console: Console) -> None:
    """Warm up, train two policies on the ladder, and print the rungs that they climbed."""
    begun = time.monotonic()
    steps = SETTINGS[LADDER]["length"] if options.steps is None else options.steps
    config = replace(LADDERS[LADDER].climb(options.seed), steps=steps, final_episodes=200, keep_trajectories=2)
    warm = follow({"warm-up": (_warm_up, (config, options.out / "warm-up"))})["warm-up"]
    runs = {
        name: (_climb, (replace(config, model=str(warm), warmup=WarmUp(0), teacher=teacher), options.out / teacher))
        for teacher, name in CLIMBERS.items()
    }
    climbs: dict[str, LadderRun] = follow(runs)
    for teacher, name in CLIMBERS.items():
        _write_climb(options.out / teacher, climbs[name], steps)
    pages = [
        _write_report(options.out / teacher, {other: options.out / other for other in CLIMBERS if other != teacher})
        for teacher in CLIMBERS
    ]
    console.print(_climb_table(climbs, options.seed))
    console.print(_climb_plot(climbs))
    console.print(
        "A rung is a length of words, and counts as climbed when half of its held-out words are right. The ladder is "
        "made for such comparisons: what is learned on a rung opens the next one. Ten seeds are in "
        "docs/benchmarks/demonstration.md."
    )
    console.print(f"{time.monotonic() - begun:.0f} s, warm-up included.")
    for name, page in zip(CLIMBERS.values(), pages):
        console.print(f"{name}: {page}", soft_wrap=True)


def show_arithmetic(options: DemoOptions, console: Console) -> None:
    """Warm up, train on sums under two teachers, and print success by difficulty."""
    begun = time.monotonic()
    warm, steps = options.out / "warm-up", ARITHMETIC.steps if options.steps is None else options.steps
    base = replace(ARITHMETIC, seed=options.seed)
    follow({"warm-up": (_train, (replace(base, steps=0, threads=2), warm))})
    trained = replace(base, model=str(warm), warmup=WarmUp(0), steps=steps, threads=1)
    for_teacher = {teacher: (replace(trained, teacher=teacher), options.out / teacher) for teacher in TEACHERS}
    follow({name: (_train, for_teacher[teacher]) for teacher, name in TEACHERS.items()})
    runs = {"warmed up": warm, **{name: options.out / teacher for teacher, name in TEACHERS.items()}}
    columns = {name: read_lines(run / "evaluations.jsonl")[-1] for name, run in runs.items()}
    console.print(_table(columns, options.seed))
    lift = columns[TEACHERS["alp-gmm"]]["success"] - columns["warmed up"]["success"]
    console.print(f"GRPO added {100 * lift:+.0f} points in {time.monotonic() - begun:.0f} s, warm-up included.")
    for teacher, name in TEACHERS.items():
        console.print(f"{name}: {options.out / teacher / 'report.html'}", soft_wrap=True)


def follow(work: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]) -> dict[str, Any]:
    """Call each function in a separate process, in parallel, show their progress, and return their results by name.

    Args:
        work: name -> (function, arguments). The function's first argument is a callback for `TrainingProgress`.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    context = multiprocessing.get_context("spawn")
    messages = context.Queue()
    processes = {
        name: context.Process(target=_work, args=(name, function, arguments, messages), daemon=True)
        for name, (function, arguments) in work.items()
    }
    for process in processes.values():
        process.start()
    results: dict[str, Any] = {}
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
                    if code := processes[title].exitcode:
                        raise RuntimeError(f"{title}: its process ended with code {code}") from None
                continue
            title, phase, *rest = message
            if phase == "done":
                results[title] = rest[0]
                # The warm-up ends when its target is met, before its limit on steps.
                bars.update(tasks[title], total=bars.tasks[tasks[title]].completed)
                running.discard(title)
                continue
            if phase == "failed":
                raise RuntimeError(f"{title}: {rest[0]}")
            if phase == "evaluate":
                continue
            step, steps, values = rest
            if "success" in values:
                # The warm-up measures success rarely, but on many episodes: the latest value is shown. Each training
                # step measures it on few: a running mean is shown.
                share = 1.0 if phase == "warmup" else 0.1
                success = float(values["success"])
                smooth[title] = (1 - share) * smooth.get(title, success) + share * success
            note = f"success {smooth[title]:.0%}" if title in smooth else ""
            if "tokens_per_s" in values:
                note += f" · {values['tokens_per_s']:,.0f} tokens/s"
            bars.update(tasks[title], total=steps, completed=step, note=note)
    for process in processes.values():
        process.join()
    return {name: results[name] for name in work}


def _work(name: str, function: Callable[..., Any], arguments: tuple[Any, ...], messages: Any) -> None:
    """Call a function in this process, and send its progress and its result or error to the parent."""

    def tell(progress: TrainingProgress) -> None:
        messages.put((name, progress.phase, progress.step, progress.steps, progress.values))

    try:
        messages.put((name, "done", function(tell, *arguments)))
    except Exception as error:
        messages.put((name, "failed", f"{type(error).__name__}: {error}"))
        raise


def _train(tell: Callable[[TrainingProgress], None], config: TrainConfig, folder: Path) -> None:
    from ..agents.grpo.learner import Learner

    # The parent owns the terminal, so drop messages; the report has all that the user needs.
    Learner.start(folder, config).run(tell, lambda sentence: None)
    if config.steps:
        _write_report(folder)


def _warm_up(tell: Callable[[TrainingProgress], None], config: TrainConfig, folder: Path) -> Path:
    return find_warm_model(config, folder, tell)


def _climb(tell: Callable[[TrainingProgress], None], config: TrainConfig, folder: Path) -> LadderRun:
    return climb(config, folder, SETTINGS[LADDER]["axis"], SETTINGS[LADDER]["shown"], tell)


def _write_climb(run: Path, found: LadderRun, steps: int) -> None:
    """Write the rungs climbed to rungs.jsonl in the run's folder, where the report finds them."""
    rows = [
        {"step": round(steps * attempts / found.attempts[-1]), "attempts": attempts, "rungs": rungs}
        for attempts, rungs in zip(found.attempts, found.rungs)
    ]
    write_atomically(run / "rungs.jsonl", "".join(json.dumps(row) + "\n" for row in rows))


def _write_report(run: Path, beside: Mapping[str, Path] | None = None) -> Path:
    from ..scripts.report import write_report

    return write_report(run, beside or {})


def _climb_table(climbs: Mapping[str, LadderRun], seed: int) -> Table:
    first = SETTINGS[LADDER]["shown"]
    rows = {
        "rungs climbed": [f"{c.rungs[-1]:.0f}" for c in climbs.values()],
        "sum of success on these and higher rungs": [f"{sum(c.rates):.1f}" for c in climbs.values()],
        f"success on rung {first}, the last one shown": [f"{c.shown:.0%}" for c in climbs.values()],
        "groups with mixed outcomes, from which GRPO learns": [f"{c.mixed:.0%}" for c in climbs.values()],
    }
    title = f"{LADDER}, seed {seed}: {climbs['uniform'].attempts[-1]:,.0f} attempts under each teacher"
    return make_table(("", *climbs), [(name, *cells) for name, cells in rows.items()], text=1, title=title)


def _climb_plot(climbs: Mapping[str, LadderRun]) -> Table:
    """Draw the rungs climbed as bars, one line for each evaluation."""
    from rich.bar import Bar
    from rich.table import Table

    highest = max(1.0, *(max(c.rungs) for c in climbs.values()))
    plot = Table(title="rungs climbed", box=None, padding=(0, 2, 0, 0))
    plot.add_column("attempts", justify="right")
    for name, color in zip(climbs, ("green", "blue")):
        plot.add_column("", justify="right")
        plot.add_column(name, style=color, width=24)
    for attempts, *rungs in zip(next(iter(climbs.values())).attempts, *(c.rungs for c in climbs.values())):
        cells = [(f"{r:.0f}", Bar(highest, 0, r, width=24)) for r in rungs]
        plot.add_row(f"{attempts:,.0f}", *(cell for pair in cells for cell in pair))
    return plot


def _table(columns: dict[str, dict[str, Any]], seed: int) -> Table:
    """Make a table of success on held-out tasks by difficulty, one column per model, with 95 % confidence intervals."""
    episodes = next(iter(columns.values()))["episodes"]
    table = make_table(("difficulty", *columns), text=1, title=f"success on {episodes} held-out tasks, seed {seed}")
    table.caption = "in brackets: 95 % confidence"
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
    from ..scripts.cli import run_guarded

    sys.exit(run_guarded(main, sys.argv[1:]))
