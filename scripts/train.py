"""``palaestra train``: train a language model on an environment, under a teacher.

examples:
  palaestra train palaestra/Arithmetic-v0 --axis digits=1 terms=2:4 --out runs/first
  palaestra train palaestra/Countdown-v0 --teacher sec --recipe dapo --steps 500 --seed 3
  palaestra train palaestra/GuessNumber-v0 --model Qwen/Qwen2.5-0.5B-Instruct --max-new-tokens 64 --lr 1e-6
  palaestra train --resume runs/first
"""

from __future__ import annotations

import dataclasses
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from ..agents.evaluation import environment_spec
from ..agents.grpo.config import TrainConfig
from ..errors import InputError, MissingExtra
from .axes import parse_axes

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

    from ..agents.grpo.learner import Learner, TrainingProgress


@dataclass(frozen=True)
class TrainOptions:
    axis: tyro.conf.UseAppendAction[tuple[tuple[str, ...], ...]] = ()
    """Restrict axes: name=value, name=low:high or name=choice,choice."""
    teacher_option: tyro.conf.UseAppendAction[tuple[tuple[str, ...], ...]] = ()
    """Arguments of the teacher: name=value."""
    out: Path | None = None
    """Folder for the run, new or empty; by default runs/ENV-TEACHER-RECIPE-SEED."""
    resume: Path | None = None
    """Continue the run in this folder from its newest checkpoint. Only --steps may be given with it, to go further."""
    config: Annotated[TrainConfig, tyro.conf.arg(name="")] = field(default_factory=TrainConfig)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    options = _parse(arguments, TrainConfig())
    if options.resume is not None:
        if options.out is not None:
            raise InputError(
                f"--out {options.out} cannot be given with --resume, which goes on in the run's own folder."
            )
        from ..agents.grpo.run.folder import RunFolder

        saved = RunFolder.reopen(options.resume)[1]
        options = _parse(arguments, saved)
        learner = _learner_module().Learner.resume(options.resume, _build_config(options))
    else:
        config = _build_config(options)
        out = options.out or _default_folder(config)
        learner = _learner_module().Learner.start(out, config)
    return train(learner)


def train(learner: Learner) -> int:
    """Run to the end with progress on the terminal, then write the report; return 0, or 130 if Ctrl-C stopped it."""
    from rich.console import Console

    console = Console(stderr=True)
    folder = learner.folder.path
    console.print(
        f"{learner.config.env} · teacher {learner.config.teacher} · recipe {learner.config.recipe} · {folder}"
    )
    with _stop_on_interrupt(learner, console), _bars(console) as bars:
        finished = learner.run(_Watcher(bars))
    from .report import write_report

    report = write_report(folder)
    if not finished:
        # Never wrapped: the command is there to be copied.
        console.print(
            f"stopped after step {learner.step}; continue with: palaestra train --resume {folder}", soft_wrap=True
        )
        return 130
    console.print(f"model and logs in {folder}, report in {report}", soft_wrap=True)
    return 0


class _Watcher:
    """Shows the learner's progress as bars: one for the warm-up, one for training."""

    def __init__(self, bars: Bars):
        self._bars = bars
        self._tasks: dict[str, Any] = {}
        self._success: dict[str, float] = {}

    def __call__(self, progress: TrainingProgress) -> None:
        if progress.phase == "evaluate":
            self._bars.console.print(f"step {progress.step}: {progress.values['success']:.0%} of held-out tasks")
            return
        if progress.phase not in self._tasks:
            for task in self._tasks.values():
                # A warm-up ends when its target is met, before its bound on steps.
                self._bars.update(task, total=self._bars.tasks[task].completed)
                self._bars.stop_task(task)
            self._tasks[progress.phase] = self._bars.add_task(progress.phase, total=progress.steps, note="")
        values = progress.values
        if "success" in values:
            # The warm-up measures it now and then on many episodes, a training step each time on few.
            share = 1.0 if progress.phase == "warmup" else 0.1
            before = self._success.get(progress.phase, values["success"])
            self._success[progress.phase] = (1 - share) * before + share * values["success"]
        parts = [f"success {self._success[progress.phase]:.0%}"] if progress.phase in self._success else []
        parts += [f"{rate:,.0f} tokens/s"] if (rate := values.get("tokens_per_s")) else []
        self._bars.update(self._tasks[progress.phase], completed=progress.step, note=" · ".join(parts))


@contextmanager
def _bars(console: Any) -> Iterator[Bars]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, refresh_per_second=4) as bars:
        yield bars


@contextmanager
def _stop_on_interrupt(learner: Learner, console: Any) -> Iterator[None]:
    """Let the first Ctrl-C finish the step and save, and the second one interrupt at once."""

    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, before)
        console.print("stopping after this step; press Ctrl-C again to stop at once")
        learner.stop()

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _learner_module() -> Any:
    try:
        from ..agents.grpo import learner
    except ImportError as error:
        if error.name in ("torch", "transformers", "safetensors"):
            raise MissingExtra("training", "train") from None
        raise
    return learner


def _parse(arguments: Sequence[str], config: TrainConfig) -> TrainOptions:
    return tyro.cli(
        TrainOptions, args=arguments, prog="palaestra train", description=__doc__, default=TrainOptions(config=config)
    )


def _build_config(options: TrainOptions) -> TrainConfig:
    """Apply the options outside the configuration (axes, teacher options) to it."""
    config = options.config
    changes: dict[str, Any] = {}
    if texts := [text for group in options.axis for text in group]:
        import gymnasium

        env = gymnasium.make(environment_spec(config.env), disable_env_checker=True)
        changes["axes"] = {
            name: list(value) if isinstance(value, tuple | list) else value
            for name, value in parse_axes(texts, env.unwrapped.param_space).items()  # type: ignore[attr-defined]
        }
        env.close()
    if texts := [text for group in options.teacher_option for text in group]:
        changes["teacher_options"] = dict(_parse_teacher_option(text) for text in texts)
    return dataclasses.replace(config, **changes)


def _parse_teacher_option(text: str) -> tuple[str, Any]:
    import json

    name, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"a teacher option is given as name=value, not {text!r}.")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _default_folder(config: TrainConfig) -> Path:
    env = config.env.rpartition("/")[2]
    return Path("runs") / f"{env}-{config.teacher}-{config.recipe}-{config.seed}"


if __name__ == "__main__":
    from .cli import run_guarded

    sys.exit(run_guarded(main, sys.argv[1:]))
