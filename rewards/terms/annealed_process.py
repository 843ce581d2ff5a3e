"""Atom-Searcher: scores of the units of a thought at first, the outcome alone in the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...checks import check_number
from ...errors import InputError
from ...schedules import Linear, Schedule, schedule
from ..episode import Episode
from ..reward import register
from ..timed import Timed
from .answer_f1 import best_f1
from .format import FormatCheck, r1_format
from .scored import Score, Scorer, scores_in

ANNEALED = Linear(start=0.5, end=0.0)


def annealed_process(atoms: Sequence[float], outcome: float, weight: float) -> float:
    """weight * mean(atoms) + (1 - weight) * outcome; a thought without atoms has a mean of 0."""
    return weight * (sum(atoms) / len(atoms) if atoms else 0.0) + (1.0 - weight) * outcome


@register("annealed-process")
class AnnealedProcess(Timed):
    """The whole worth of an episode by its format, its atoms of thought and its answer.

    `ranks_success` is not claimed: a success in the wrong format has the penalty, and F1 need not agree with success.

    Args:
        weight: of the atoms, in [0, 1]; a number, a schedule or its data. By default from 0.5 down to 0 at the end of
            training.
        atoms: scores of the atoms in [0, 1], a callable of the episode; None reads the extra "atom_scores".
        outcome: score of the answer in [0, 1]; None is its F1 with the extra "reference".
        penalty: value of an episode in the wrong format, at most 0.
        check: the format; None is ``<think>...</think><answer>...</answer>`` and nothing else.

    Raises:
        InputError: an argument out of its range.
    """

    paper = "Atom-Searcher, arXiv 2508.12800"
    needs = frozenset({"atom_scores", "reference"})
    complete = True

    def __init__(
        self,
        weight: Schedule | Mapping[str, Any] | float = ANNEALED,
        atoms: Callable[[Episode], Sequence[float] | None] | None = None,
        outcome: Scorer | None = None,
        penalty: float = -1.0,
        check: FormatCheck = r1_format,
    ):
        self.weight = schedule(weight)
        low, high = self.weight.bounds
        if low < 0 or high > 1:
            raise InputError(f"the weight of the atoms must stay in [0, 1], but spans {low:g} to {high:g}.")
        self.atoms = atoms
        self.outcome = None if outcome is None else Score(outcome, "outcome", 0.0, 1.0)
        self.penalty = check_number("penalty", penalty, high=0.0)
        self.check = check
        self.needs = frozenset(
            ([] if atoms is not None else ["atom_scores"]) + ([] if outcome is not None else ["reference"])
        )

    @property
    def bounds(self) -> tuple[float, float]:
        return self.penalty, 1.0

    def value(self, episode: Episode) -> float | None:
        if not self.check(episode):
            return self.penalty
        given = episode.extra("atom_scores") if self.atoms is None else self.atoms(episode)
        atoms = scores_in(given, "atom_scores", 0.0, 1.0)
        outcome = self.outcome(episode) if self.outcome else best_f1(episode.answer, episode.extra("reference"))
        if atoms is None or outcome is None:
            return None
        return annealed_process(atoms, outcome, self.now(self.weight))
