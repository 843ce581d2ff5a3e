"""Rewards without labels: siblings vote on the answer, and who agrees with the vote is paid.

One class with three slots: how much a vote weighs, which episodes share a label (the whole group or parts of it), and
what agreement pays. A slot takes a name from its registry or a callable of the same signature.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any, TypeVar

import numpy as np

from ...errors import InputError
from ...registry import Registry
from ..answers import check_format, extract
from ..episode import Episode
from ..reward import BatchReward, register
from ..verifiers.text import normalise

Key = Callable[[Episode], str | None]


@dataclass(frozen=True)
class Ballot:
    """One group before the vote: each tuple has one entry an episode, in their order.

    Args:
        episodes: the valid episodes of one task.
        answers: the answer's key, or None where there is none; None never votes.
        weights: what the episode's vote weighs; 0 or more, and 0 where there is no answer.
    """

    episodes: tuple[Episode, ...]
    answers: tuple[str | None, ...]
    weights: tuple[float, ...]

    def winner(self, voters: Sequence[int] | None = None) -> str | None:
        """The answer with the greatest weight among ``voters`` (all by default), or None if none of them has one.

        Of several with the same weight the one with more votes wins, then the one that sorts first: the order of the
        episodes never matters.
        """
        votes: dict[str, list[float]] = {}
        for i in range(len(self.answers)) if voters is None else voters:
            answer = self.answers[i]
            if answer is not None:
                votes.setdefault(answer, []).append(self.weights[i])
        return min(votes, key=lambda answer: (-fsum(votes[answer]), -len(votes[answer]), answer), default=None)


Weight = Callable[[Sequence[Episode], Sequence["str | None"]], Sequence[float]]
"""(episodes of a group, their answers) -> one weight each, 0 or more."""
Partition = Callable[[Sequence[Ballot]], "list[list[str | None]]"]
"""The ballots of a training step -> for each, one label an episode."""
Bonus = Callable[[Ballot, np.ndarray], "Sequence[float | None]"]
"""(ballot, agreement [G]: whether the answer is the label) -> rewards [G]; None where undetermined."""

WEIGHTS: Registry[Any] = Registry("vote weight")
PARTITIONS: Registry[Any] = Registry("vote partition")
BONUSES: Registry[Any] = Registry("vote bonus")

S = TypeVar("S")


def _slot(registry: Registry[Any], value: str | S) -> S:
    """The callable for a slot: given as it is, or made (with its defaults, if it is a class) from its name."""
    if not isinstance(value, str):
        return value
    found = registry[value]
    return found() if isinstance(found, type) else found


@WEIGHTS.register("equal")
def equal(episodes: Sequence[Episode], answers: Sequence[str | None]) -> list[float]:
    """Every answer weighs 1."""
    return [1.0] * len(episodes)


@PARTITIONS.register("whole")
def whole(ballots: Sequence[Ballot]) -> list[list[str | None]]:
    """One label for the whole group: its winner."""
    return [[ballot.winner()] * len(ballot.episodes) for ballot in ballots]


@BONUSES.register("none")
def agreement_only(ballot: Ballot, agreement: np.ndarray) -> list[float]:
    """1 for agreement with the label, 0 for anything else."""
    return [float(agrees) for agrees in agreement]


def answer_key(answer_format: str = "any") -> Key:
    """The answer in the last action, in the normal form of the verifier "text" (white space, case, Unicode)."""
    check_format(answer_format)

    def key(episode: Episode) -> str | None:
        answer = extract(episode.response, answer_format)
        return normalise(answer) or None if answer else None

    return key


@register("majority-vote")
class VoteReward(BatchReward):
    """Pays for agreement with a vote of the siblings; with its defaults, the majority vote of TTRL: 1 or 0.

    No reference answer is read, so a wrong majority is paid: failed episodes can outrank successes. Without any answer
    in the group nobody is paid. Ties: see `Ballot.winner`.

    Args:
        weight: what a vote weighs: "equal", "self-consistency" (RLCCF), "token-confidence" (SCOPE) or a callable.
        partition: who shares a label: "whole", "pareto" (SCOPE) or a callable.
        bonus: what agreement pays: "none", "novelty" (EVOL-RL) or a callable.
        key: what makes two answers the same one: text, or None for no answer. By default the normalised answer; pass a
            canonical form (a parsed number) where different texts mean the same.
        answer_format: how the default key finds the answer (`palaestra.rewards.answers.FORMATS`).
        needs: names of the extras that callables given here read; those of the registered slots are known.

    Raises:
        InputError: unknown name of a slot or a format; when called, a weight that is negative or not finite.
    """

    paper = "TTRL, arXiv 2504.16084"
    complete = True

    def __init__(
        self,
        weight: str | Weight = "equal",
        partition: str | Partition = "whole",
        bonus: str | Bonus = "none",
        key: Key | None = None,
        answer_format: str = "any",
        needs: Sequence[str] = (),
    ):
        self.weight: Weight = _slot(WEIGHTS, weight)
        self.partition: Partition = _slot(PARTITIONS, partition)
        self.bonus: Bonus = _slot(BONUSES, bonus)
        self.key = key or answer_key(answer_format)
        slots = (self.weight, self.partition, self.bonus)
        self.needs = frozenset(needs).union(*(getattr(slot, "needs", ()) for slot in slots))

    @property
    def bounds(self) -> tuple[float, float]:
        return getattr(self.bonus, "bounds", (0.0, 1.0))

    def values(self, groups: Sequence[Sequence[Episode]]) -> list[list[float | None]]:  # type: ignore[override]
        ballots = [self.ballot(group) for group in groups]
        paid = []
        for ballot, labels in zip(ballots, self.partition(ballots), strict=True):
            agreement = np.array(
                [answer is not None and answer == label for answer, label in zip(ballot.answers, labels, strict=True)]
            )
            paid.append(list(self.bonus(ballot, agreement)))
        return paid

    def ballot(self, group: Sequence[Episode]) -> Ballot:
        """Answers and weights of a group; whoever has no answer keeps a place, with weight 0."""
        answers = tuple(self.key(episode) for episode in group)
        weights = [float(weight) for weight in self.weight(group, answers)]
        if len(weights) != len(group) or not all(0 <= weight < np.inf for weight in weights):
            raise InputError(f"a vote needs one finite weight of at least 0 for each of {len(group)}, not {weights}.")
        kept = (weight if answer is not None else 0.0 for weight, answer in zip(weights, answers, strict=True))
        return Ballot(tuple(group), answers, tuple(kept))
