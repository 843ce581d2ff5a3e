"""``palaestra train --stages FILE``: several runs in order, each from the weights of an earlier one, with one report.

A TOML file has options of ``palaestra train``, by their names without the dashes, for all stages, and a list of stages
with options of their own. A stage starts from the model of the stage before, or of another one named by ``start``. In
texts, ``{name}`` stands for the folder of an earlier stage. A table ``grid`` of lists makes a stage a run for each
combination of their values, all from the same model.

    env = "palaestra/Arithmetic-v0"
    axis = { digits = 1, terms = "2:4" }

    [[stages]]
    name = "imitate"
    recipe = "sft"
    steps = 50

    [[stages]]
    name = "prefer"
    recipe = "ln_dpo"
    steps = 50

    [[stages]]
    name = "reinforce"
    grid = { recipe = ["ppo", "grpo"], seed = [0, 1, 2] }
    steps = 200
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..agents.atomic import write_atomically
from ..errors import InputError, unknown_name

_OWN = ("name", "start", "grid")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
RECORD = "stages.json"
"""File in the folder of the stages: folder of a run -> the words it was begun with."""


@dataclass(frozen=True)
class StageRun:
    """One run of a stage.

    Attributes:
        stage: name of the stage.
        choices: values of the stage's grid in this run, by option; {} without a grid.
        start: name of the stage whose model the run starts from; None for the model of its options.
        options: options of ``palaestra train``, by name without dashes.
    """

    stage: str
    choices: Mapping[str, Any]
    start: str | None
    options: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Name of the run's folder."""
        parts = [f"{option}={value}" for option, value in self.choices.items()]
        return re.sub(r"[^\w.=,+-]+", ".", ",".join([self.stage, *parts]))

    def words(self, folders: Mapping[str, Path]) -> list[str]:
        """Return the words of ``palaestra train``, without --out.

        Args:
            folders: folder of each earlier stage, by name.
        """
        options = {"model": str(folders[self.start]), **self.options} if self.start else dict(self.options)
        environments = options.pop("env")
        words = [environments] if isinstance(environments, str) else list(environments)
        for option, value in options.items():
            words += _to_words(option.replace("_", "-"), value)
        return [_fill_in(word, folders) for word in words]


def _fill_in(word: str, folders: Mapping[str, Path]) -> str:
    for name, folder in folders.items():
        word = word.replace(f"{{{name}}}", str(folder))
    return word


def _to_words(option: str, value: Any) -> list[str]:
    if isinstance(value, bool):
        return [f"--{option}" if value else f"--no-{option}"]
    if isinstance(value, Mapping):
        return [f"--{option}", *(f"{name}={_to_text(part)}" for name, part in value.items())]
    return [f"--{option}", *map(_to_text, value if isinstance(value, list) else [value])]


def _to_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def read_stages(file: Path) -> list[StageRun]:
    """Read the runs of a file of stages, in order.

    Raises:
        InputError: the file cannot be read, has no stages, or a stage has no name, environment or possible start.
    """
    try:
        common = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"the stages {str(file)!r} cannot be read: {error}.") from None
    stages = common.pop("stages", None)
    if not isinstance(stages, list) or not stages or not all(isinstance(stage, dict) for stage in stages):
        raise InputError(f"{file.name} must have stages: one table [[stages]] or more.")
    runs: list[StageRun] = []
    single: list[str] = []  # stages of one run, from which others may start
    for number, stage in enumerate(stages, 1):
        name, grid = stage.get("name"), stage.get("grid", {})
        if not isinstance(name, str) or not _NAME.fullmatch(name) or name in {run.stage for run in runs}:
            raise InputError(
                f"stage {number} of {file.name} needs a name of its own, of letters and digits, not {name!r}."
            )
        if not isinstance(grid, dict) or not all(isinstance(values, list) and values for values in grid.values()):
            raise InputError(f"the grid of stage {name!r} must have a list of values for each option, not {grid!r}.")
        start = stage.get("start", single[-1] if single else None)
        if start is not None and start not in single:
            raise unknown_name(f"stage of one run before {name!r}", str(start), single)
        if "start" not in stage and runs and runs[-1].choices:
            raise InputError(f"stage {name!r} follows a grid of runs; name the stage that it starts from by start=.")
        options = {**common, **{option: value for option, value in stage.items() if option not in _OWN}}
        for values in itertools.product(*grid.values()):
            choices = dict(zip(grid, values))
            whole = {**options, **choices}
            if not whole.get("env"):
                raise InputError(f"stage {name!r} has no environment; give env= for it or above the stages.")
            if refused := next((option for option in ("out", "resume") if option in whole), None):
                raise InputError(f"{refused} of stage {name!r} follows from --out and the stage's name; leave it out.")
            runs.append(StageRun(name, choices, start, whole))
        single += [] if grid else [name]
    return runs


def train_stages(arguments: Sequence[str], train: Callable[[Sequence[str]], int]) -> int:
    """Run ``palaestra train --stages FILE [--out FOLDER]``; see `run_stages`."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--stages", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    given, others = parser.parse_known_args(arguments)
    if others:
        raise InputError(f"{' '.join(others)} cannot be given with --stages; write it into {given.stages}.")
    return run_stages(given.stages, given.out, train)


def run_stages(file: Path, out: Path | None, train: Callable[[Sequence[str]], int]) -> int:
    """Train all stages that are not finished, and write ``out``/report.html after each. The same call again goes on.

    Args:
        out: folder for the runs; None: runs/NAME-OF-THE-FILE.
        train: runs ``palaestra train`` with the given words and returns its exit code.

    Returns:
        0, or the exit code of the first run that did not end well.

    Raises:
        InputError: the file is unusable, or a run was begun with other options.
    """
    out = out or Path("runs") / file.stem
    runs = read_stages(file)
    record = out / RECORD
    begun: dict[str, list[str]] = json.loads(record.read_text(encoding="utf-8")) if record.is_file() else {}
    folders = {run.stage: (out / run.name).resolve() for run in runs if not run.choices}
    for run in runs:
        words, folder = run.words(folders), out / run.name
        if begun.get(run.name, words) != words:
            raise InputError(
                f"{run.name!r} in {str(out)!r} was begun with other options ({' '.join(begun[run.name])}); restore "
                "them, remove its folder and its entry in stages.json, or choose another --out."
            )
        if is_finished(folder):
            continue
        begun[run.name] = words
        write_atomically(record, json.dumps(begun, indent=1))
        resumes = (folder / "config.json").is_file()
        code = train(["--resume", str(folder)] if resumes else [*words, "--out", str(folder)])
        write_page(out, runs)
        if code:
            return code
    print(f"{len(runs)} runs in {out}, report in {write_page(out, runs)}")
    return 0


def is_finished(folder: Path) -> bool:
    """Return True if the run in a folder has taken all its steps."""
    from ..agents.grpo.run.folder import newest_checkpoint

    if not (folder / "report.html").is_file() or (newest := newest_checkpoint(folder)) is None:
        return False
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return int(newest.name.rpartition("-")[2]) >= config["steps"]


def write_page(out: Path, runs: Sequence[StageRun]) -> Path:
    """Write the report of all stages and return its path."""
    from ..agents.pages import render
    from . import report

    rows = []
    for run in runs:
        folder = out / run.name
        if not (folder / "config.json").is_file():
            continue
        evaluations = report.by_step(report.read_rows(folder / "evaluations.jsonl"))
        timings = report.by_step(report.read_rows(folder / "timings.jsonl"))
        seconds = sum(row.get(name) or 0.0 for row in timings for name in ("seconds", "warmup_s", "evaluation_s"))
        rows.append(
            {
                "name": run.name,
                "config": report.read_config(folder),
                "start": run.start or "",
                "finished": is_finished(folder),
                "first": evaluations[0] if len(evaluations) > 1 else None,
                "last": evaluations[-1] if evaluations else None,
                "time": report.format_duration(seconds),
            }
        )
    page = render(
        Path(__file__).with_name("train_stages.html"),
        "the report of the stages",
        filters={"percent": report.format_percent, "interval": report.format_interval},
        name=out.resolve().name,
        rows=rows,
        left=len(runs) - len(rows),
    )
    return write_atomically(out / "report.html", page)
