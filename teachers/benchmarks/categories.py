"""T3: bandits over categories of tasks, in five settings in which different teachers are best."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...checks import keyword_declared, option
from ..arms.arm_teacher import ArmTeacher
from ..protocol import Evidence, Outcome
from ..registration import TEACHERS
from ..sampling import proportional
from ..students import CategoryStudent
from .table import OURS, UNIFORM, Table, TableResult, choose_clock, keep_registered, make_teacher, settings_of

BATCH, GROUP = 64, 8
CHECKPOINTS = 24
SLICES = 24

SETTINGS: dict[str, dict[str, Any]] = {
    "R1 transfer": {"length": 240, "arms": 10, "transfer": 1.5, "rate": 0.004},
    "R1b infeasible": {"length": 240, "arms": 20, "transfer": 1.5, "rate": 0.004, "infeasible": list(range(12, 20))},
    "R2 transfer, coins": {"length": 240, "arms": 12, "transfer": 1.5, "rate": 0.004, "coins": [1, 5, 9]},
    "R3 no transfer": {"length": 240, "arms": 10, "transfer": 0.0, "rate": 0.006},
    "R4 no transfer, coins": {"length": 240, "arms": 12, "transfer": 0.0, "rate": 0.006, "coins": [1, 5, 9]},
}
NOTES = {
    "R1 transfer": "10 categories; what is learned in one helps in its neighbours",
    "R1b infeasible": "as R1 with 20 categories, the 8 hardest of them impossible",
    "R2 transfer, coins": "as R1 with 12 categories, 3 of them coin flips",
    "R3 no transfer": "10 categories, each to be learned on its own",
    "R4 no transfer, coins": "as R3 with 12 categories, 3 of them coin flips",
}
# SEC's temperature decides between nearly uniform and greedy; the paper uses both.
TUNED = ("sec tau=0.2",)


@keyword_declared
class VarianceOracle(ArmTeacher):
    """Oracle that draws learnable arms in proportion to p (1 - p), with the student's true success rates p."""

    student: CategoryStudent = option(saved=False)

    def _probabilities(self) -> np.ndarray:
        p = self.student.rates()
        return proportional(p * (1 - p) * self.student.scored)

    def _learn(self, evidence: list[Evidence]) -> None:
        pass


def _teachers() -> list[str]:
    arms = [name for name, made in TEACHERS.items() if getattr(made, "kind", "") == "arms"]
    return [UNIFORM, *arms, *TUNED, *keep_registered(OURS), "oracle"]


def _run(options: Mapping[str, Any], teacher: str, seed: int, length: int) -> TableResult:
    student = CategoryStudent(**{name: value for name, value in options.items() if name != "length"}, seed=seed)

    def oracle(space: Any, **common: Any) -> VarianceOracle:
        return VarianceOracle(space, student=student, **common)

    built = make_teacher(teacher, student.space, seed, {"oracle": oracle})
    built.expect(length * BATCH)
    x, y = [0.0], [student.score()]
    shares = np.zeros((student.arms, min(SLICES, length)))
    clock, proposing, observing = choose_clock(built, time.process_time), 0.0, 0.0
    for step in range(length):
        start = clock()
        proposals = built.propose(BATCH)
        proposing += clock() - start
        arms = np.array([proposal.task for proposal in proposals])
        trained = np.array([proposal.train for proposal in proposals])
        returns = np.zeros((len(arms), GROUP))
        returns[trained] = student.practise(arms[trained], GROUP)
        if not trained.all():
            returns[~trained] = student.play(arms[~trained], GROUP)
        won = (returns > 0).tolist()
        outcomes = [Outcome(p.id, p.task, row, ok) for p, row, ok in zip(proposals, returns.tolist(), won)]
        start = clock()
        built.observe(outcomes)
        observing += clock() - start
        shares[:, step * shares.shape[1] // length] += np.bincount(arms, minlength=student.arms)
        if (step + 1) * CHECKPOINTS // length > step * CHECKPOINTS // length:
            x.append(float((step + 1) * BATCH * GROUP))
            y.append(student.score())
    total = shares.sum()
    wasted = shares[~student.scored].sum() / total
    return TableResult(
        score=y[-1],
        curve=(x, y),
        measures={"rollouts on what cannot be learned": float(wasted)},
        heat={"x": "time", "y": "category, easy at the bottom", "slices": [(shares / shares.sum(0)).tolist()]},
        calls={"propose": 1e6 * proposing / length / BATCH, "observe": 1e6 * observing / length / BATCH},
        hyperparameters=settings_of(built),
    )


TABLE = Table(
    name="T3",
    title="Choosing between categories of tasks",
    about=(
        "The student practises categories from easy to hard, 64 groups of 8 attempts at a time; what it learns from "
        "a group grows with the variance of the results, spreads to neighbouring categories in R1, R1b and R2 only, "
        "and is nothing for categories that are impossible (R1b) or coin flips (R2, R4). The score is its mean chance "
        "of success over the learnable categories at the end; a good teacher gains much over uniform practice in R1 "
        "and loses nothing to it in R2 and R4, where choosing by variance alone is fooled by the coins."
    ),
    settings=SETTINGS,
    notes=NOTES,
    run=_run,
    teachers=_teachers,
    kinds=frozenset({"box", "arms", "prompts", "levels"}),
    length="batches of 64",
    score="mean success",
    x="attempts",
    curve="mean success",
    seeds=20,
    own=frozenset({"oracle"}),
    rows={
        "oracle": "In proportion to p (1 - p), p the true chance of success, of what can be learned: it looks into the "
        "student. Looking ahead no further than the next group, it can be beaten where learning spreads."
    },
    further="Share of all attempts that went to categories that are impossible or coin flips.",
)
