"""T4: selectors of prompts and allocators of rollouts, on an item-response student under simulated GRPO."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ...checks import keyword_declared, option
from ..budgets.budgeted import Budgeted
from ..prompts.prompt_teacher import PromptTeacher
from ..protocol import Evidence, Outcome, Teacher
from ..random import RandomTeacher
from ..registration import TEACHERS
from ..sampling import argsmallest
from ..students import ItemStudent
from .table import OURS, Table, TableResult, keep_registered, make_teacher, parse_teacher, settings_of

BATCH, GROUP = 64, 8
TARGET = 0.8
CHECKPOINTS = 25
REMEMBERED = 20_000  # most screening groups stored, which may still join a training group

SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {"length": 128_000, "mean": 2.0, "spread": 2.0, "rate": 0.25},
    "wide": {"length": 128_000, "mean": 2.0, "spread": 4.0, "rate": 0.5},
    "dead and coins": {"length": 128_000, "mean": 2.0, "spread": 2.0, "rate": 0.25, "dead": 0.2, "coins": 0.1},
}
NOTES = {
    "plain": "about 23 % of all attempts succeed at first",
    "wide": "difficulties spread twice as far; about a third of all attempts succeed at first",
    "dead and coins": "as plain, but 20 % of the prompts are impossible and 10 % coin flips",
}
# Uniform prompts with rollouts from an allocator, or with groups of equal returns discarded (DAPO, arXiv 2503.14476).
SHARED = {f"random+{name}": name for name in ("knapsack", "cures", "e3", "zero-one")}
DAPO = "random+drop-flat"
# These need a language model that writes tasks, or pairs of tasks, which the student's items do not have.
LEFT_OUT = frozenset({"clpo", "eva", "webrl", "puzzlecraft", "seele", "pairing"})


@keyword_declared
class NearestOracle(PromptTeacher):
    """Oracle that chooses the learnable items whose true success rate, read from the student, is nearest to 1/2."""

    student: ItemStudent = option(saved=False)

    def _choose(self, k: int) -> tuple[np.ndarray, np.ndarray | float, Sequence[str] | str]:
        return argsmallest(np.abs(self.student.rates() - 0.5) + ~self.student.scored, k, self._rng), np.nan, "exploit"

    def _learn(self, evidence: list[Evidence]) -> None:
        pass


@dataclass
class RolloutCount:
    """Counts of a run so far.

    rollouts: all; probing: for evaluation only; useful: in groups with successes and failures. seconds: in
    [propose, observe]. predicted: (predicted rates, successes, episodes) of each batch.
    """

    rollouts: int = 0
    probing: int = 0
    useful: int = 0
    seconds: list[float] = field(default_factory=lambda: [0.0, 0.0])
    proposals: int = 0
    predicted: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = field(default_factory=list)


def _teachers() -> list[str]:
    prompts = [name for name, made in TEACHERS.items() if getattr(made, "kind", "") == "prompts"]
    return [
        "random",
        *(name for name in prompts if name not in LEFT_OUT),
        DAPO,
        *SHARED,
        *keep_registered(OURS),
        "oracle",
    ]


def _run(options: Mapping[str, Any], teacher: str, seed: int, length: int) -> TableResult:
    student = ItemStudent(**{name: value for name, value in options.items() if name != "length"}, seed=seed)
    name = parse_teacher(teacher)[0]
    own: dict[str, Callable[..., Teacher]] = {
        name: partial(_make_budgeted, allocator) for name, allocator in SHARED.items()
    }
    own |= {DAPO: RandomTeacher, "oracle": lambda space, **common: NearestOracle(space, student=student, **common)}
    built = make_teacher(teacher, student.space, seed, own)
    built.expect(max(1, length // GROUP))  # a group is one outcome
    count, screened = RolloutCount(), {}
    x, y, reached = [0.0], [student.score()], float(length)
    while count.rollouts < length:
        items, groups = _batch(student, built, count, screened, length, drop_flat=name == DAPO)
        student.learn(items, groups)
        score = student.score()
        if score >= TARGET and reached == length:
            reached = float(count.rollouts)
        while len(x) <= CHECKPOINTS and count.rollouts >= len(x) * length / CHECKPOINTS:
            x.append(len(x) * length / CHECKPOINTS)
            y.append(score)
    measures = {
        "success at the end": student.score(),
        "rollouts in groups with a gradient": count.useful / count.rollouts,
        "rollouts for looking only": count.probing / count.rollouts,
    }
    if (area := _measure_auc(count.predicted)) is not None:
        measures["AUC of predicted success"] = area
    per = 1e6 / max(count.proposals, 1)
    calls = {"propose": count.seconds[0] * per, "observe": count.seconds[1] * per}
    return TableResult(reached, (x, y), measures, calls=calls, hyperparameters=settings_of(built))


def _batch(
    student: ItemStudent,
    teacher: Teacher,
    count: RolloutCount,
    screened: dict[int, np.ndarray],
    budget: int,
    *,
    drop_flat: bool,
) -> tuple[list[int], list[np.ndarray]]:
    """Return (items, groups) to train on: a full batch, or as many groups as the budget of rollouts allows."""
    items: list[int] = []
    groups: list[np.ndarray] = []
    while len(items) < BATCH and count.rollouts < budget:
        start = time.perf_counter()
        proposals = teacher.propose(BATCH - len(items))
        count.seconds[0] += time.perf_counter() - start
        tasks = np.array([proposal.task for proposal in proposals])
        sizes = [GROUP if proposal.n is None else proposal.n for proposal in proposals]
        outcomes = student.play(tasks, sizes)
        if (predicted := _read_predicted_rates(teacher, student.space.n)) is not None:
            count.predicted.append((predicted[tasks], np.array([y.sum() for y in outcomes]), np.array(sizes)))
        start = time.perf_counter()
        teacher.observe([Outcome(p.id, p.task, y.tolist(), y.tolist()) for p, y in zip(proposals, outcomes)])
        count.seconds[1] += time.perf_counter() - start
        count.proposals += len(proposals)
        for proposal, item, group in zip(proposals, tasks.tolist(), outcomes):
            count.rollouts += len(group)
            if not proposal.train:
                count.probing += len(group)
                screened[proposal.id] = group
                continue
            joined = [screened.pop(id) for id in proposal.meta.get("joins", ()) if id in screened]
            group = np.concatenate([*joined, group]) if joined else group
            flat = len(group) == 0 or not 0 < group.sum() < len(group)
            count.useful += 0 if flat else len(group)
            if len(group) and not (drop_flat and flat):
                items.append(item)
                groups.append(group)
    while len(screened) > REMEMBERED:
        del screened[next(iter(screened))]
    return items, groups


def _make_budgeted(allocator: str, space: Any, **common: Any) -> Teacher:
    return Budgeted(RandomTeacher(space, **common), allocator, rollouts=GROUP)


def _read_predicted_rates(teacher: Teacher, items: int) -> np.ndarray | None:
    """Return float64[items], the success rates that a teacher predicts, or None if it predicts none."""
    rates = getattr(teacher, "rates", None)
    rates = getattr(rates, "mean", None) if not isinstance(rates, np.ndarray) else rates
    return np.array(rates) if isinstance(rates, np.ndarray) and rates.shape == (items,) else None


def _measure_auc(predicted: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> float | None:
    """Return the AUC of predicted rates: the probability that a success had a higher predicted rate than a failure,
    ties counting half; None without predictions, successes or failures."""
    if not predicted:
        return None
    rates, won, played = (np.concatenate(parts) for parts in zip(*predicted))
    lost = played - won
    values, place = np.unique(rates, return_inverse=True)
    won, lost = np.bincount(place, won, len(values)), np.bincount(place, lost, len(values))
    if not won.sum() or not lost.sum():
        return None
    below = np.concatenate([[0.0], np.cumsum(lost)[:-1]])
    return float((won * (below + lost / 2)).sum() / (won.sum() * lost.sum()))


TABLE = Table(
    name="T4",
    title="Choosing prompts, and how many attempts each gets",
    about=(
        "2,000 prompts of different difficulty; the student learns by policy gradients from groups of attempts, and a "
        "group in which all succeed or all fail teaches nothing. The score is how many attempts it takes until 80 % of "
        "all attempts at learnable prompts would succeed, counting those that a teacher only looks at: less is better, "
        "and a run that does not get there counts as its whole budget."
    ),
    settings=SETTINGS,
    notes=NOTES,
    run=_run,
    teachers=_teachers,
    kinds=frozenset({"prompts", "arms", "levels"}),
    length="attempts",
    score="attempts to 80 %",
    x="attempts",
    curve="mean success",
    seeds=10,
    percent=False,
    lower=True,
    own=frozenset({DAPO, *SHARED, "oracle"}),
    rows={
        DAPO: "Uniform prompts; groups in which all succeed or all fail are thrown away and others drawn (DAPO).",
        **{row: f"Uniform prompts; the allocator {name!r} shares out the attempts." for row, name in SHARED.items()},
        "oracle": "The learnable prompts whose true chance of success is nearest to 1/2: it looks into the student.",
    },
    further=(
        "Success at the end is the mean chance over learnable prompts. A group has a gradient where some attempts "
        "succeed and some fail; looking only means that the teacher asked not to train on it. AUC is the chance that a "
        "success had been predicted to be likelier than a failure was, 0.5 for a guess, where a teacher predicts."
    ),
)
