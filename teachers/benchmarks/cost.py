"""T2: time and memory that a box teacher needs, as the number of tasks that it has seen grows."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..protocol import Outcome, Teacher
from ..registration import TEACHERS
from ..students import HypercubeStudent
from .table import OURS, Table, TableResult, choose_clock, keep_registered, make_teacher, settings_of

# Measured over this many tasks before each checkpoint: two of ALP-GMM's periods, so that refits are included.
WINDOW = 500
CHECKPOINTS = (1_000, 10_000, 100_000)
AXES = (2, 6, 12)
# Longest time to reach the next checkpoint, in seconds; later checkpoints are then not measured.
PATIENCE = 60.0


def _teachers() -> list[str]:
    boxes = [name for name, made in TEACHERS.items() if getattr(made, "kind", "") == "box"]
    return ["random", *boxes, *keep_registered(OURS)]


def _run(options: Mapping[str, Any], teacher: str, seed: int, length: int) -> TableResult:
    student = HypercubeStudent(2, 10, options["dimensions"] - 2, seed=seed)
    built = make_teacher(teacher, student.space, seed)
    built.expect(length)
    measures: dict[str, float] = {}
    seen, costs, curve = 0, (0.0, 0.0), ([], [])
    clock = choose_clock(built, time.thread_time)
    start = clock()
    for checkpoint in (*(c for c in CHECKPOINTS if c < length), length):
        window = min(WINDOW, (checkpoint - seen + 1) // 2)
        while seen < checkpoint - window and clock() - start < PATIENCE:
            count = min(50, checkpoint - window - seen)
            _practise(built, student, count)
            seen += count
        if seen < checkpoint - window:
            break
        costs = _measure(built, student, window, clock)
        seen += window
        measures[f"us/task at {checkpoint:,}"] = sum(costs)
        if clock is time.thread_time:
            # A teacher that runs in another process keeps its state there.
            measures[f"kB at {checkpoint:,}"] = len(json.dumps(built.state_dict())) / 1e3
        curve[0].append(float(checkpoint))
        curve[1].append(sum(costs))
    return TableResult(
        score=sum(costs),
        curve=curve,
        measures=measures,
        calls={"propose": costs[0], "observe": costs[1]},
        hyperparameters=settings_of(built),
    )


def _practise(teacher: Teacher, student: HypercubeStudent, count: int) -> None:
    proposals = teacher.propose(count)
    returns = student.episodes(np.array([p.task for p in proposals])).tolist()
    teacher.observe([Outcome(p.id, p.task, (ret,)) for p, ret in zip(proposals, returns)])


def _measure(
    teacher: Teacher, student: HypercubeStudent, count: int, clock: Callable[[], float]
) -> tuple[float, float]:
    """Return microseconds of processor time per proposal and per outcome, for batches of one task."""
    proposing = observing = 0.0
    for _ in range(count):
        start = clock()
        proposal = teacher.propose(1)[0]
        proposing += clock() - start
        outcome = Outcome(proposal.id, proposal.task, (student.episode(proposal.task),))
        start = clock()
        teacher.observe((outcome,))
        observing += clock() - start
    return 1e6 * proposing / count, 1e6 * observing / count


TABLE = Table(
    name="T2",
    title="What a teacher costs",
    about=(
        "Processor time that a teacher of continuous tasks needs per task (proposing it and learning from its result), "
        "measured after 1,000, 10,000 and 100,000 tasks in spaces of 2, 6 and 12 axes; the size of its saved state is "
        "among the further numbers. Less is better, and a cost that stays the same as tasks add up means that long "
        "runs cost no more than short ones; an episode of a real learner takes at least 1,000 us."
    ),
    settings={f"{d} axes": {"length": 100_000, "dimensions": d} for d in AXES},
    notes={f"{d} axes": f"a task is {d} numbers" for d in AXES},
    run=_run,
    teachers=_teachers,
    kinds=frozenset({"box", "arms", "prompts", "levels"}),
    length="tasks",
    score="us per task in the end",
    x="tasks seen",
    curve="us per task",
    seeds=1,
    percent=False,
    lower=True,
    curve_percent=False,
    logarithmic=True,
    further="Microseconds per task, and kilobytes of saved state, after so many tasks.",
)
