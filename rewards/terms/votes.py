"""Rewards without reference answers: siblings vote on the answer, and agreement with the vote is rewarded.

`VoteReward` has three slots: the weight of a vote, the partition of a group into episodes that share a label, and the
reward of agreement. A slot takes a name from its registry or a callable of the same signature. Labels of subgroups
(SCOPE) and from another view of the task (Co-rewarding) are in `vote_labels.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from math import fsum, log2
from typing import Any, TypeVar

import numpy as np

from ...checks import Declared, declared, option
from ...errors import InputError
from ...registry import Registry
from ..answers import check_format, extract
from ..embedding import Embedder, EmbeddingSource, HashedNgrams, collect_features, cosines
from ..episode import Episode
from ..reward import BatchReward, GroupReward, register
from ..verifiers.text import normalise

Key = Callable[[Episode], str | None]


@dataclass(frozen=True)
class Ballot:
    """Answers and weights of one group; the three tuples are parallel, with one entry per episode.

    Args:
        episodes: the valid episodes of one task.
        answers: the canonical text of each answer; None for an episode without an answer, which does not vote.
        weights: weight of each vote, at least 0; 0 for an episode without an answer.
    """

    episodes: tuple[Episode, ...]
    answers: tuple[str | None, ...]
    weights: tuple[float, ...]

    def winner(self, voters: Sequence[int] | None = None) -> str | None:
        """Return the answer with the greatest weight among ``voters`` (default: all); None if no voter has an answer.

        Ties go to the answer with more votes, then to the first in alphabetical order, so the order of the episodes
        never matters.
        """
        votes: dict[str, list[float]] = {}
        for i in range(len(self.answers)) if voters is None else voters:
            answer = self.answers[i]
            if answer is not None:
                votes.setdefault(answer, []).append(self.weights[i])
        return min(votes, key=lambda answer: (-fsum(votes[answer]), -len(votes[answer]), answer), default=None)


Weight = Callable[[Sequence[Episode], Sequence["str | None"]], Sequence[float]]
"""Callable from (episodes of a group, their answers) to one weight each, 0 or more."""
Partition = Callable[[Sequence[Ballot]], "list[list[str | None]]"]
"""Callable from the ballots of a training step to the labels of each ballot's episodes, as [ballot][episode]."""
Bonus = Callable[[Ballot, np.ndarray], "Sequence[float | None]"]
"""Callable from (ballot, mask [G] of the answers equal to the label) to rewards [G]; None if undetermined."""

_MORE = [f"{__package__}.vote_labels"]
WEIGHTS: Registry[Any] = Registry("vote weight", modules=_MORE)
PARTITIONS: Registry[Any] = Registry("vote partition", modules=_MORE)
BONUSES: Registry[Any] = Registry("vote bonus")

S = TypeVar("S")


def _resolve_slot(registry: Registry[Any], value: str | S) -> S:
    """Return ``value`` if it is a callable, else the object registered under that name (of a class, an instance)."""
    if not isinstance(value, str):
        return value
    entry = registry[value]
    return entry() if isinstance(entry, type) else entry


@WEIGHTS.register("equal")
def equal_weights(episodes: Sequence[Episode], answers: Sequence[str | None]) -> list[float]:
    """Return a weight of 1 for every episode."""
    return [1.0] * len(episodes)


@PARTITIONS.register("whole")
def one_label_per_group(ballots: Sequence[Ballot]) -> list[list[str | None]]:
    """Label every episode of a group with the group's winner."""
    return [[ballot.winner()] * len(ballot.episodes) for ballot in ballots]


@BONUSES.register("none")
def agreement_only(ballot: Ballot, agreement: np.ndarray) -> list[float]:
    """Return 1 for agreement with the label, 0 otherwise."""
    return [float(agrees) for agrees in agreement]


def answer_key(answer_format: str = "any") -> Key:
    """Return a function that extracts the answer of the last action, normalised as by the verifier "text" (white space,
    case, Unicode), or None."""
    check_format(answer_format)

    def key(episode: Episode) -> str | None:
        answer = extract(episode.response, answer_format)
        return normalise(answer) or None if answer else None

    return key


class Vote(BatchReward):
    """Base class of rewards by vote. A subclass declares options for the slots and the key, or keeps these defaults."""

    weight: Any = "equal"
    partition: Any = "whole"
    bonus: Any = "none"
    key: Any = None
    answer_format: str = "any"
    complete = True

    def setup(self) -> None:
        self.weight = _resolve_slot(WEIGHTS, self.weight)
        self.partition = _resolve_slot(PARTITIONS, self.partition)
        self.bonus = _resolve_slot(BONUSES, self.bonus)
        self.key = self.key or answer_key(self.answer_format)
        slots = (self.weight, self.partition, self.bonus)
        self.needs = frozenset(self.needs).union(*(getattr(slot, "needs", ()) for slot in slots))
        self.measure_options = {k: v for slot in slots for k, v in getattr(slot, "measure_options", {}).items()}

    @property
    def bounds(self) -> tuple[float, float]:
        return getattr(self.bonus, "bounds", (0.0, 1.0))

    def values(self, groups: Sequence[Sequence[Episode]]) -> list[list[float | None]]:  # type: ignore[override]
        ballots = [self.ballot(group) for group in groups]
        rewards = []
        for ballot, labels in zip(ballots, self.partition(ballots), strict=True):
            agreement = np.array(
                [answer is not None and answer == label for answer, label in zip(ballot.answers, labels, strict=True)]
            )
            rewards.append(list(self.bonus(ballot, agreement)))
        return rewards

    def ballot(self, group: Sequence[Episode]) -> Ballot:
        """Return the answers and weights of a group; an episode without an answer has weight 0."""
        answers = tuple(self.key(episode) for episode in group)
        weights = [float(weight) for weight in self.weight(group, answers)]
        if len(weights) != len(group) or not all(0 <= weight < np.inf for weight in weights):
            raise InputError(f"a vote needs one finite weight of at least 0 for each of {len(group)}, not {weights}.")
        kept = (weight if answer is not None else 0.0 for weight, answer in zip(weights, answers, strict=True))
        return Ballot(tuple(group), answers, tuple(kept))


@register("majority-vote")
class VoteReward(Vote):
    """Reward for agreement with a vote of the siblings; by default the majority vote of TTRL, 1 or 0.

    No reference answer is read. A wrong majority is rewarded too: failed episodes can outrank successes. In a group
    without any answer all get 0. Ties: see `Ballot.winner`. By default answers are compared as normalised text; pass a
    ``key`` that returns a canonical form (a parsed number) if different texts mean the same.

    Raises:
        InputError: unknown name of a slot or a format; when called, a weight that is negative or not finite.
    """

    paper = "TTRL, arXiv 2504.16084"
    weight: str | Weight = option(
        default="equal", says='weight: "equal", "self-consistency" (RLCCF), "token-confidence" (SCOPE) or a callable.'
    )
    partition: str | Partition = option(
        default="whole", says='episodes that share a label: "whole", "pareto" (SCOPE) or a callable.'
    )
    bonus: str | Bonus = option(default="none", says='reward: "none" (1 or 0), "novelty" (EVOL-RL) or a callable.')
    key: Key = option(default=None, says="maps an episode to its answer, or to None; equal texts agree.")
    answer_format: str = option(
        default="any", says="answer format of the default key, one of `palaestra.rewards.answers.FORMATS`."
    )
    needs: Collection[str] = option(
        default=frozenset(), says="names of the extras that callables read; registered names declare their own."
    )


def rank_penalties(ranks: Sequence[int], hits: Sequence[bool]) -> list[float]:
    """Return 0 for a hit and -(1 / log2(rank + 2)) / sum over j < G of 1 / log2(j + 2) for each other of the G answers;
    0 for all without a hit (ReRe, arXiv 2510.12211, eq. 6).

    Args:
        ranks: place of each answer among the beams, from 0.
    """
    if not any(hits):
        return [0.0] * len(ranks)
    total = fsum(1 / log2(place + 2) for place in range(len(ranks)))
    return [0.0 if hit else -1 / log2(rank + 2) / total for rank, hit in zip(ranks, hits, strict=True)]


@register("rank-penalty")
class RankPenalty(GroupReward):
    """Penalty of a wrong answer that grows with its place among the beams of its task, if a beam is right; the
    penalties of a group sum to at most 1, so that a right answer stays ahead."""

    paper = "ReRe, arXiv 2510.12211"
    bounds = (-1.0, 0.0)
    needs = frozenset({"beam_rank"})

    def values(self, episodes: Sequence[Episode]) -> list[float]:
        ranks = [int(episode.extra("beam_rank")) for episode in episodes]
        return rank_penalties(ranks, [episode.success for episode in episodes])


def self_consistency(episodes: Sequence[Episode], answers: Sequence[str | None]) -> list[float]:
    """Return for each episode the share of its agent's samples that give the agent's most frequent answer (RLCCF).

    The agent is ``episode.extra("agent")``; samples without an answer count in the denominator.
    """
    agents = [episode.extra("agent") for episode in episodes]
    samples = Counter(agents)
    votes: dict[object, Counter[str]] = {agent: Counter() for agent in samples}
    for agent, answer in zip(agents, answers, strict=True):
        if answer is not None:
            votes[agent][answer] += 1
    modal = {agent: max(counts.values(), default=0) / samples[agent] for agent, counts in votes.items()}
    return [modal[agent] for agent in agents]


self_consistency.needs = frozenset({"agent"})  # type: ignore[attr-defined]
WEIGHTS.add("self-consistency", self_consistency)


@register("rlccf")
class CollectiveVote(VoteReward):
    """`VoteReward` over the samples of several agents on one task, weighted by their self-consistency.

    ``episode.extra("agent")`` must be a hashable name of the agent that produced the episode. If all agents are equally
    consistent, the vote is the plain majority.
    """

    paper = "RLCCF, arXiv 2508.12338"
    needs = frozenset({"agent"})
    weight: str | Weight = option(default="self-consistency", says='see the reward "majority-vote".')


_UNPARSED = -1.0


def novelty_in_class(similarity: np.ndarray, agreement: np.ndarray) -> np.ndarray:
    """Return the novelty [G] of each episode, in [0, 1] within majority and minority (EVOL-RL, arXiv 2509.15194).

    Raw novelty is 1 - (mean similarity to the own class) / 2 - (greatest similarity to any sibling) / 2. It is scaled
    to [0, 1] over the class; a class of one episode, or with equal values, gets 1/2 (the released code does not scale
    equal values).

    Args:
        similarity: [G, G], in [0, 1].
        agreement: mask [G] of the episodes that agree with the vote.
    """
    number = len(agreement)
    raw = np.zeros(number)
    for i in range(number):
        others = np.arange(number) != i
        own = similarity[i, others & (agreement == agreement[i])]
        nearest = similarity[i, others].max(initial=0.0)
        raw[i] = 1.0 - 0.5 * (float(own.mean()) if len(own) else 0.0) - 0.5 * nearest
    # Round, so that equal texts get equal rewards although their similarities are summed in another order.
    raw = np.round(raw, 9)
    scaled = np.full(number, 0.5)
    for label in (False, True):
        members = agreement == label
        if members.any() and np.ptp(raw[members]) > 0:
            scaled[members] = (raw[members] - raw[members].min()) / np.ptp(raw[members])
    return scaled


@BONUSES.register("novelty")
@declared
class NoveltyBonus(Declared):
    """Reward of 0.5 to 1 for agreement and -1 to -0.5 against it, more for more novel responses; -1 without an answer.

    The embedder maps response texts to vectors, whose cosine, clipped to [0, 1], is the similarity. With "policy" or
    "reference" the learner measures mean hidden states of that model; None takes hashed n-grams.
    """

    bounds = (-1.0, 1.0)
    embedder: Embedder | str | None = option(default=None, says="source of the vectors.")

    def setup(self) -> None:
        self.source = EmbeddingSource.of(self.embedder or HashedNgrams(), "features")
        self.needs, self.measure_options = self.source.needs, self.source.options

    def __call__(self, ballot: Ballot, agreement: np.ndarray) -> Sequence[float | None]:
        answered = np.array([answer is not None for answer in ballot.answers])
        rewards = np.where(agreement, 1.0, _UNPARSED)
        if len(ballot.episodes) > 1 and answered.any():
            voters = [episode for episode, kept in zip(ballot.episodes, answered, strict=True) if kept]
            rows = collect_features(voters, self.source.embedder)
            if rows is None:
                return [None] * len(ballot.episodes)
            base = np.where(agreement[answered], 0.5, -1.0)
            rewards[answered] = base + 0.5 * novelty_in_class(np.clip(cosines(rows), 0.0, 1.0), agreement[answered])
        return rewards.tolist()


def stated_answer(answer_format: str = "any") -> Key:
    """Return a function like `answer_key`, which ignores texts of more than four words outside box and tags."""
    read = answer_key(answer_format)

    def key(episode: Episode) -> str | None:
        answer = read(episode)
        marked = any(extract(episode.response, marks) for marks in ("boxed", "tag"))
        return answer if answer is not None and (marked or len(answer.split()) <= 4) else None

    return key


@register("evol-rl")
class NoveltyVote(Vote):
    """`VoteReward` with the novelty bonus: every majority member outranks every minority member.

    An episode judged alone gets the plain label, 1 or -1. By default an answer outside box and tags counts only if it
    has at most four words, so that a sentence is no answer. The paper counts only numbers in a box.
    """

    paper = "EVOL-RL, arXiv 2509.15194"
    embedder: Embedder | str | None = option(default=None, says="see `NoveltyBonus`.")
    weight: str | Weight = option(default="equal", says='see the reward "majority-vote".')
    key: Key = option(default=None, says='see the reward "majority-vote".')
    answer_format: str = option(default="any", says='see the reward "majority-vote".')

    def setup(self) -> None:
        self.bonus = NoveltyBonus(self.embedder)
        self.key = self.key or stated_answer(self.answer_format)
        super().setup()
