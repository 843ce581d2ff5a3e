"""T7 of ``palaestra bench teachers``: a tiny language model climbs ladders of tasks by GRPO under each teacher.

A model is warmed up once for each setting and seed, on solutions of the lowest rungs, and kept in the folder of the
benchmark; training under every teacher starts from it, with the same number of attempts. In the setting "level", the
warm-up shows all tasks, so that no teacher can gain anything.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...agents.grpo.config import TrainConfig, WarmUp
from ...agents.grpo.run.folder import write_folder
from ...agents.grpo.run.observers import TrainingProgress
from ...teachers.benchmarks.table import Table, TableResult, parse_teacher
from ...teachers.registration import TEACHERS
from ..harness import require
from ..ladders import LADDERS, make_environments, measure_held_out, warm_up_tiny

CHECKPOINTS = 5
TASKS_ON_THE_WAY, TASKS_AT_THE_END, SAMPLES = 8, 32, 4  # held-out tasks of a rung, and answers to each
CLIMBED, GONE = 0.5, 0.05  # least success on a climbed rung; success below which a rung counts as unsolved
GAP = 6  # unsolved rungs in a row that end the search: rungs may be learned out of order, and forgotten
POOL = 2000  # number of fixed tasks for teachers of kind "prompts"
PATIENCE = 5  # most warm-up steps per step of the run, so that a short trial has a short warm-up


def _setting(config: TrainConfig, length: int, axis: str = "", shown: int = 0) -> dict[str, Any]:
    """Return a setting as data: the entries of its configuration that differ from the defaults, and the axis to climb,
    if any, with the highest rung shown."""
    usual = TrainConfig().to_json()
    own = {name: value for name, value in config.to_json().items() if value != usual[name]}
    return {"length": length, "axis": axis, "shown": shown, "config": own}


def _ladder(name: str, length: int) -> dict[str, Any]:
    case = LADDERS[name]
    return _setting(case.climb(0), length, case.axis, case.shown[1])


# Words of the eight symbols that the warm-up shows, whatever the share of the newest ones.
LEVEL = replace(
    LADDERS["SecretCode"].climb(0),
    axes={"symbols": 8, "length": 4, "newest": [0.0, 0.75]},
    warmup=WarmUp(steps=600, target=0.4, batch=32),
)
SETTINGS: dict[str, dict[str, Any]] = {
    "NextDigits": _ladder("NextDigits", 300),
    "LargerNeighbors": _ladder("LargerNeighbors", 300),
    "SecretCode": _ladder("SecretCode", 300),
    "level": _setting(LEVEL, 100),
}


def scan_rungs(success: Callable[[int], float], first: int, highest: int) -> list[float]:
    """Return the share solved of each rung from the first one up, until `GAP` in a row are below `GONE`."""
    found: list[float] = []
    for rung in range(first, highest + 1):
        found.append(success(rung))
        if len(found) >= GAP and max(found[-GAP:]) < GONE:
            break
    return found


def _name(config: TrainConfig) -> str:
    key = hashlib.blake2b(json.dumps(config.to_json(), sort_keys=True).encode(), digest_size=5).hexdigest()
    return f"{config.envs[0].rpartition('/')[2]}-{config.seed}-{key}"


def find_warm_model(
    config: TrainConfig, folder: Path, watch: Callable[[TrainingProgress], None] = lambda progress: None
) -> Path:
    """Return the folder of a run's warmed-up model; the first process to ask makes the model, others wait."""
    from filelock import FileLock

    place = folder / _name(config)
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(place.with_suffix(".lock")):
        if not place.is_dir():
            language = warm_up_tiny(config, watch)
            with write_folder(place) as partial:
                language.save(partial)
    return place


@dataclass(frozen=True)
class LadderRun:
    """Rungs and success that a run reached.

    Attributes:
        attempts, rungs: curve of the score, from before the first attempt to the end.
        rates: final success rate on each rung above the shown ones; on all tasks if there is no ladder.
        shown: final success rate on the highest shown rung.
        mixed: share of the groups with both successes and failures.
    """

    attempts: list[float]
    rungs: list[float]
    rates: list[float]
    shown: float
    mixed: float


def climb(
    config: TrainConfig,
    place: Path,
    axis: str,
    shown: int,
    watch: Callable[[TrainingProgress], None] = lambda progress: None,
) -> LadderRun:
    """Train in a new folder, and measure the number of climbed rungs at intervals.

    Args:
        axis: name of the axis to climb; with "" the score is the success on all tasks.
        shown: the highest rung that the warm-up showed.
        watch: called after each step.
    """
    from ...agents.grpo.learner import Learner

    held_out = make_environments(config, "test")

    def success(tasks: int, **part: int) -> float:
        return measure_held_out(learner.language, config, held_out, part, tasks, SAMPLES).success

    def measure(tasks: int) -> list[float]:
        if not axis:
            return [success(4 * tasks)]
        return scan_rungs(lambda rung: success(tasks, **{axis: rung}), shown + 1, config.axes[axis][1])

    def score(rates: list[float]) -> float:
        return float(sum(rate >= CLIMBED for rate in rates)) if axis else rates[0]

    def follow(progress: TrainingProgress) -> None:
        nonlocal attempts
        if progress.phase == "train":
            attempts += int(progress.values["episodes"])
            mixed.append(1 - progress.values.get("zero_variance_share", 1.0))
            # Teachers that screen tasks use up their attempts in fewer steps.
            if attempts >= budget:
                learner.stop()
            elif attempts >= budget * len(x) / CHECKPOINTS:
                x.append(float(attempts))
                y.append(score(measure(TASKS_ON_THE_WAY)))
        watch(progress)

    budget, attempts, mixed = config.steps * config.prompts * config.samples, 0, []
    learner = Learner.start(place, config)
    x, y = [0.0], [score(measure(TASKS_ON_THE_WAY))]
    learner.run(follow, notify=lambda sentence: None)
    rates = measure(TASKS_AT_THE_END)
    last = success(TASKS_AT_THE_END, **({axis: shown} if axis else {}))
    return LadderRun([*x, float(attempts)], [*y, score(rates)], rates, last, float(np.mean(mixed)))


def _run(options: Mapping[str, Any], teacher: str, seed: int, length: int, folder: Path) -> TableResult:
    require("table T7", "train", "torch", "transformers", "safetensors")
    name, teacher_options = parse_teacher(teacher)
    config = TrainConfig.from_json({**options["config"], "seed": seed})
    steps = min(config.warmup.most_steps(config.model), PATIENCE * length)
    warm = find_warm_model(replace(config, warmup=replace(config.warmup, steps=steps)), folder / "warm-ups")
    config = replace(
        config,
        model=str(warm),
        warmup=WarmUp(0),
        teacher=name,
        teacher_options=teacher_options,
        pool=POOL if TEACHERS[name].kind == "prompts" else 0,  # type: ignore[attr-defined]
        steps=length,
    )
    place = folder / "running" / _name(config)
    shutil.rmtree(place, ignore_errors=True)  # left by a benchmark that was killed
    try:
        found = climb(config, place, options["axis"], options["shown"])
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return TableResult(
        score=found.rungs[-1],
        curve=(found.attempts, found.rungs),
        measures={
            "over the run": float(np.trapezoid(found.rungs, found.attempts) / found.attempts[-1]),
            "sum of success": float(sum(found.rates)),
            "mixed groups": found.mixed,
            "success where shown": found.shown,
        },
        hyperparameters=teacher_options,
    )


TABLE = Table(
    name="T7",
    title="A tiny language model on ladders of tasks",
    about=(
        "A language model of about a million parameters, warmed up on solutions of the lowest rungs of a ladder, goes "
        "on by reinforcement learning (GRPO) on tasks that the teacher chooses from all rungs. The score is the number "
        "of rungs climbed: those above the ones shown of which at least half of the held-out tasks are solved. On "
        "“level”, where all tasks are within reach from the beginning, it is the share of held-out tasks solved, and "
        "no teacher can gain much."
    ),
    settings=SETTINGS,
    notes={
        "NextDigits": "words of digits, each to be raised by one; a rung is a digit more",
        "LargerNeighbors": "words of digits, the larger of each two neighbors to be written; a rung is a digit more",
        "SecretCode": "words in a code whose symbols can only be learned one after the other; a rung is a symbol",
        "level": "words of symbols that the warm-up shows, all alike, in the secret code; share of words right",
    },
    run=_run,
    teachers=lambda: ["random", "palaestra", "rlve window=5 threshold=0.7"],
    kinds=frozenset({"box", "arms", "prompts", "levels"}),
    without=frozenset({"format-ladder", "format-stages"}),  # no axis is one of formats
    length="training steps",
    score="rungs climbed",
    x="attempts",
    curve="rungs climbed",
    seeds=10,
    optional_teacher_seeds={"NextDigits": [1], "level": [1]},  # with seed 0 nobody climbs NextDigits
    percent=False,
    curve_percent=False,
    keeps=True,
    statistic="interquartile mean",
    columns=("over the run", "sum of success", "mixed groups"),
    joint=("NextDigits", "LargerNeighbors", "SecretCode"),
    further=(
        "Over the run: the score averaged over the attempts (area under its curve). Sum of success: of the shares "
        "solved of all rungs above those shown. Mixed groups: share of the groups with both successes and failures, "
        "from which GRPO learns. Success where shown: share solved, at the end, of the highest rung that the warm-up "
        "showed."
    ),
)
