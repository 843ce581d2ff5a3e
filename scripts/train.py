"""``palaestra train``: train a language model on an environment, under a teacher.

examples:
  palaestra train palaestra/Arithmetic-v0 --axis digits=1 terms=2:4 --out runs/first
  palaestra train palaestra/Arithmetic-v0 palaestra/GSM8K-v0 --env-weight 1 2 --axis Arithmetic.digits=1:2
  palaestra train palaestra/Countdown-v0 --teacher sec --recipe dapo --steps 500 --seed 3
  palaestra train palaestra/GuessNumber-v0 --model Qwen/Qwen2.5-0.5B-Instruct --lora 16 --max-new-tokens 64
  palaestra train palaestra/GSM8K-v0 --env-option source=questions.jsonl --lr-schedule cosine --lr-end 0.1
  palaestra train palaestra/GSM8K-v0 --model models/mine --engine vllm --engine-option cache_gb=4
  palaestra train --resume runs/first
"""

from __future__ import annotations

import dataclasses
import importlib
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from ..agents.grpo.config import TrainConfig
from ..errors import InputError, MissingExtra
from .axes import parse_axes
from .option_groups import make_form, read_form
from .options import parse_options

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

    from ..agents.grpo.learner import Learner, TrainingProgress


Texts = tuple[tuple[str, ...], ...]
_OWN: dict[str, tuple[Any, Any, str]] = {
    "axis": (
        tyro.conf.UseAppendAction[Texts],
        (),
        "Restrict axes: name=value, name=low:high or name=choice,choice. Of several environments, those of each "
        "bear its name: Arithmetic.digits=1:2.",
    ),
    "env_weight": (
        tuple[str, ...],
        (),
        "Of several environments, how often each is drawn: a number, start:end for a straight line over the run, or a "
        "schedule as JSON.",
    ),
    "env_option": (
        tyro.conf.UseAppendAction[Texts],
        (),
        "Further arguments of the environment: name=value, such as source=questions.jsonl; a value may be JSON. Of "
        "several environments, those of one bear its name: GSM8K.source=questions.jsonl.",
    ),
    "engine_option": (tyro.conf.UseAppendAction[Texts], (), "Arguments of the engine: name=value."),
    "teacher_option": (tyro.conf.UseAppendAction[Texts], (), "Arguments of the teacher: name=value."),
    "warmup_axis": (
        Annotated[tyro.conf.UseAppendAction[Texts], tyro.conf.arg(name="warmup.axis")],
        (),
        "The part of the tasks that the warm-up shows solutions of and counts its target on, given as for --axis; by "
        "default all.",
    ),
    "out": (Path | None, None, "Folder for the run, new or empty; by default runs/ENV-TEACHER-RECIPE-SEED."),
    "resume": (
        Path | None,
        None,
        "Continue the run in this folder from its newest checkpoint. Only --steps may be given with it, to go further, "
        "--patience, --collapse and --engine.",
    ),
}
"""Options beside those of the configuration: name -> (type, default, help)."""


@dataclass(frozen=True)
class TrainOptions:
    """A parsed command line."""

    axis: Texts
    env_weight: tuple[str, ...]
    env_option: Texts
    engine_option: Texts
    teacher_option: Texts
    warmup_axis: Texts
    out: Path | None
    resume: Path | None
    config: TrainConfig


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    options = _parse_new(arguments)
    if options.resume is not None:
        if options.out is not None:
            raise InputError(
                f"--out {options.out} cannot be given with --resume, which goes on in the run's own folder."
            )
        from ..agents.grpo.run.folder import RunFolder

        saved = RunFolder.reopen(options.resume)[1]
        options = _parse(arguments, saved)
        if options.config.engine != saved.engine:  # whose options are not those of another one
            options = dataclasses.replace(options, config=dataclasses.replace(options.config, engine_options={}))
        learner = _learner_module().Learner.resume(options.resume, _build_config(options))
    else:
        config = _build_config(options)
        out = options.out or _default_folder(config)
        learner = _learner_module().Learner.start(out, config)
    return train(learner)


def read_config(arguments: Sequence[str]) -> TrainConfig:
    """The configuration of a new run that a command line describes."""
    return _build_config(_parse_new(arguments))


def _parse_new(arguments: Sequence[str]) -> TrainOptions:
    """Parse a command line, with defaults that follow the model."""
    options = _parse(arguments, TrainConfig())
    if options.resume is not None or options.config.model == "tiny":
        return options
    chosen = _learner_module("run.defaults").choose_defaults(
        options.config.model, options.config.lora, options.config.device
    )
    return _parse(arguments, dataclasses.replace(TrainConfig(), **chosen.values))


def train(learner: Learner) -> int:
    """Run to the end with progress on the terminal, then write the report.

    Returns:
        0; 1 if the run ended as it could not learn; 130 if Ctrl-C stopped it.
    """
    from rich.console import Console

    console = Console(stderr=True)
    folder = learner.folder.path
    envs = " + ".join(learner.config.envs)
    console.print(f"{envs} · teacher {learner.config.teacher} · recipe {learner.config.recipe} · {folder}")
    from ..agents.grpo.run.health import DeadRun
    from .report import write_report

    try:
        with _stop_on_interrupt(learner, console), _bars(console) as bars:
            finished = learner.run(_Watcher(bars), lambda sentence: bars.console.print(sentence, highlight=False))
    except DeadRun:
        report = write_report(folder)
        console.print(
            f"ended at step {learner.step} of {learner.config.steps}, as the run could not learn; report in {report}",
            soft_wrap=True,
        )
        return 1
    finally:
        learner.engines.shut_down()
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
            if progress.phase == "warmup" and not self._bars.console.is_terminal:
                # Where no bar moves, as in a file.
                measured = f"loss {values['loss']:.3f}, {values['success']:.0%} of training tasks"
                self._bars.console.print(f"warm-up step {progress.step}: {measured}")
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


def _learner_module(name: str = "learner") -> Any:
    """Import a module of the learner; raises MissingExtra where torch or transformers is absent."""
    try:
        return importlib.import_module(f"..agents.grpo.{name}", __package__)
    except ImportError as error:
        if error.name in ("torch", "transformers", "safetensors"):
            raise MissingExtra("training", "train") from None
        raise


def _parse(arguments: Sequence[str], config: TrainConfig) -> TrainOptions:
    form = tyro.cli(make_form(config, _OWN), args=arguments, prog="palaestra train", description=__doc__)
    return TrainOptions(**{name: getattr(form, name) for name in _OWN}, config=read_form(form, config))


def _build_config(options: TrainOptions) -> TrainConfig:
    """Apply the options outside the configuration (axes, teacher options) to it."""
    config = options.config
    changes: dict[str, Any] = {}
    if options.env_weight:
        config = dataclasses.replace(config, env_weights=tuple(map(_parse_weight, options.env_weight)))
    if texts := [text for group in options.env_option for text in group]:
        config = dataclasses.replace(config, env_options=parse_options(texts, "an environment"))
    if texts := [text for group in options.axis for text in group]:
        config = dataclasses.replace(config, axes={})
        config = dataclasses.replace(config, axes=_parse_axes(texts, config))
    if texts := [text for group in options.warmup_axis for text in group]:
        changes["warmup"] = dataclasses.replace(config.warmup, axes=_parse_axes(texts, config))
    if texts := [text for group in options.teacher_option for text in group]:
        changes["teacher_options"] = parse_options(texts, "a teacher")
    if texts := [text for group in options.engine_option for text in group]:
        changes["engine_options"] = parse_options(texts, "an engine")
    return dataclasses.replace(config, **changes)


def _parse_axes(texts: Sequence[str], config: TrainConfig) -> dict[str, Any]:
    """Parse ranges of the axes that the configuration's environment has; lists instead of tuples, as in JSON."""
    import gymnasium

    from ..agents.grpo.run.blend import environment_of

    env_id, arguments = environment_of(config)
    env = gymnasium.make(env_id, disable_env_checker=True, **arguments)
    axes = parse_axes(texts, env.unwrapped.param_space)  # type: ignore[attr-defined]
    env.close()
    return {name: list(value) if isinstance(value, tuple | list) else value for name, value in axes.items()}


def _parse_weight(text: str) -> Any:
    """A number, ``start:end`` for a linear schedule over the run, or a schedule as JSON, as plain data."""
    import json

    try:
        if ":" in text and not text.lstrip().startswith("{"):
            start, end = map(float, text.split(":"))
            return {"kind": "linear", "start": start, "end": end}
        return json.loads(text)
    except ValueError:
        raise InputError(
            f"a weight is a number such as 2, a line start:end such as 1:0.5, or a schedule as JSON, not {text!r}."
        ) from None


def _default_folder(config: TrainConfig) -> Path:
    env = "+".join(env_id.rpartition("/")[2] for env_id in config.envs)
    return Path("runs") / f"{env}-{config.teacher}-{config.recipe}-{config.seed}"


if __name__ == "__main__":
    from .cli import run_guarded

    sys.exit(run_guarded(main, sys.argv[1:]))
