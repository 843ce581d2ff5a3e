"""T1: box teachers on the hypercube student, whose tasks become learnable one after the other."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...checks import keyword_declared, option
from ..boxes.box_teacher import BoxTeacher
from ..protocol import Evidence, Outcome
from ..students import HypercubeStudent
from ..students.hypercube import LEARNABLE, LOCKED, MASTERED, UNLEARNABLE
from .table import OURS, Table, TableResult, choose_clock, keep_registered, make_teacher, settings_of

CHECKPOINTS = 20
TOGETHER = 25  # tasks a batch; divides 75 and 250, outcomes between fits, so teachers learn as from single tasks
ROUNDS = 200  # least number of batches, in short runs
SLICES = 5  # time slices in the maps of sampled tasks
CELLS = 20  # cells of these maps along each axis
TEACHERS = ("random", "riac", "alp-gmm", "alp-gmm-windowed", "covar-gmm")
# Half of the square always returns coin flips: its returns vary, but nothing can be learned there.
UPPER_HALF = [[[0.0, 0.5], [1.0, 1.0]]]

SETTINGS: dict[str, dict[str, Any]] = {
    "2d": {"length": 20_000, "dimensions": 2, "cubes": 10},
    "2d-irrelevant": {"length": 20_000, "dimensions": 2, "cubes": 10, "irrelevant": 4},
    "3d": {"length": 20_000, "dimensions": 3, "cubes": 5},
    "2d-fine": {"length": 40_000, "dimensions": 2, "cubes": 20},
    "2d-gaussian": {"length": 20_000, "dimensions": 2, "cubes": 10, "noise": "gaussian"},
    "2d-bernoulli": {"length": 20_000, "dimensions": 2, "cubes": 10, "noise": "bernoulli"},
    "2d-forgetting": {"length": 20_000, "dimensions": 2, "cubes": 10, "forget_after": 0.5},
    "2d-unlearnable": {
        **{"length": 20_000, "dimensions": 2, "cubes": 10},
        **{"unlearnable": UPPER_HALF, "unlearnable_return": "coin"},
    },
}

NOTES = {
    "2d": "two axes of 10 cells each, returns without noise",
    "2d-irrelevant": "as 2d, with four more axes that make no difference",
    "3d": "three axes of 5 cells each",
    "2d-fine": "two axes of 20 cells each, and twice the episodes",
    "2d-gaussian": "as 2d, with normal noise on every return",
    "2d-bernoulli": "as 2d, but a return is 1 with the student's skill as its chance, else 0",
    "2d-forgetting": "as 2d, but half-way the student loses all its skill",
    "2d-unlearnable": "as 2d, but in the upper half returns are coin flips for ever and nothing can be learned",
}


@keyword_declared
class FrontierOracle(BoxTeacher):
    """Oracle that draws uniformly from the cubes that can be learned and are not mastered yet, which it reads from the
    student. No teacher that sees only returns can be expected to come near it."""

    student: HypercubeStudent = option(saved=False)

    def _points(self, k: int) -> tuple[np.ndarray, np.ndarray | float, Sequence[str] | str]:
        student, points = self.student, self._rng.random((k, self.cube.dimension))
        if len(frontier := student.frontier):
            chosen = frontier[self._rng.integers(len(frontier), size=k)]
            points[:, : student.dimensions] = (chosen + points[:, : student.dimensions]) / student.shape
        return points, np.nan, "exploit"

    def _learn(self, evidence: list[Evidence]) -> None:
        pass


@dataclass(frozen=True)
class TeachingResult:
    """Result of teaching one student.

    Attributes:
        mastered: share of mastered cubes after each 1 / len(mastered) of the episodes.
        tasks: float32[episodes, 2], the first two coordinates of the practised tasks.
        proposing, observing: seconds that the teacher took.
    """

    student: HypercubeStudent
    mastered: tuple[float, ...]
    tasks: np.ndarray
    proposing: float
    observing: float
    hyperparameters: dict[str, Any]


def teach(
    options: Mapping[str, Any], teacher: str, seed: int, episodes: int, checkpoints: int = CHECKPOINTS
) -> TeachingResult:
    """Teach one student, `TOGETHER` tasks at a time, as in a vector of environments. Student and teacher share the
    seed."""
    arguments = {name: value for name, value in options.items() if name not in ("length", "forget_after")}
    if "forget_after" in options:
        arguments["forget_at"] = round(options["forget_after"] * episodes)
    student = HypercubeStudent(**arguments, seed=seed)

    def frontier(space: Any, **common: Any) -> FrontierOracle:
        return FrontierOracle(space, student=student, **common)

    built = make_teacher(teacher, student.space, seed, {"oracle": frontier})
    built.expect(episodes)
    clock, batches, mastered, proposing, observing = choose_clock(built, time.process_time), [], [], 0.0, 0.0
    for checkpoint in range(1, checkpoints + 1):
        while (left := checkpoint * episodes // checkpoints - student.practised) > 0:
            start = clock()
            proposals = built.propose(min(TOGETHER, max(1, episodes // ROUNDS), left))
            proposing += clock() - start
            tasks = np.array([proposal.task for proposal in proposals])
            returns = student.episodes(tasks).tolist()
            outcomes = [Outcome(p.id, p.task, (ret,)) for p, ret in zip(proposals, returns)]
            start = clock()
            built.observe(outcomes)
            observing += clock() - start
            batches.append(tasks[:, :2])
        mastered.append(student.mastered())
    # A one-dimensional task is repeated as the second coordinate.
    seen = np.broadcast_to(np.concatenate(batches), (episodes, 2)).astype(np.float32)
    return TeachingResult(student, tuple(mastered), seen, proposing, observing, settings_of(built))


def _result(options: Mapping[str, Any], teacher: str, seed: int, episodes: int) -> TableResult:
    result = teach(options, teacher, seed, episodes)
    count = len(result.mastered)
    visits = result.student.visits
    shares = {"locked": LOCKED, "learnable": LEARNABLE, "mastered": MASTERED, "unlearnable": UNLEARNABLE}
    return TableResult(
        score=result.mastered[-1],
        curve=([0.0, *(episodes * (i + 1) / count for i in range(count))], [0.0, *result.mastered]),
        measures={f"practised on {name}": visits[at] / episodes for name, at in shares.items()},
        heat=_maps(result.tasks) if options["dimensions"] == 2 else None,
        calls={"propose": 1e6 * result.proposing / episodes, "observe": 1e6 * result.observing / episodes},
        hyperparameters=result.hyperparameters,
    )


def _maps(tasks: np.ndarray) -> dict[str, Any]:
    """Count the tasks by cell [y][x] in each slice of time."""
    slices = []
    for part in np.array_split(tasks, SLICES):
        x, y = np.minimum((part * CELLS).astype(int), CELLS - 1).T
        counts = np.zeros((CELLS, CELLS), dtype=int)
        np.add.at(counts, (y, x), 1)
        slices.append(counts.tolist())
    return {"x": "first axis", "y": "second axis", "slices": slices}


TABLE = Table(
    name="T1",
    title="A student whose tasks open up one after the other",
    about=(
        "Tasks are points of a square (or cube) cut into cells; practising a cell raises the student's skill there, "
        "but only next to cells that it has practised about 75 times already, so a good teacher stays at the edge of "
        "what is known. The score is the share of cells mastered at the end: the oracle, which looks into the student, "
        "reaches 100 % where time allows, and uniform practice about 4 % in the plain setting."
    ),
    settings=SETTINGS,
    notes=NOTES,
    run=_result,
    teachers=lambda: [*TEACHERS, *keep_registered(OURS), "oracle"],
    kinds=frozenset({"box", "arms", "prompts", "levels"}),
    length="episodes",
    score="cells mastered",
    x="episodes",
    curve="cells mastered",
    seeds=10,
    own=frozenset({"oracle"}),
    rows={"oracle": "Uniform over the cells that can be learned and are not mastered yet: it looks into the student."},
    further=(
        "Shares of the practice by what the cell was at that moment: locked (it cannot be learned yet), learnable, "
        "mastered, or unlearnable for ever."
    ),
)
