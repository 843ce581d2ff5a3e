"""Votes across several agents, each weighing as much as the agent agrees with itself (RLCCF)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from ..episode import Episode
from ..reward import register
from .vote import WEIGHTS, Bonus, Key, Partition, VoteReward


def self_consistency(episodes: Sequence[Episode], answers: Sequence[str | None]) -> list[float]:
    """For each episode, the share of its agent's samples that give the agent's most frequent answer.

    The agent is the extra "agent"; samples without an answer count in the denominator.
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

    Needs the extra "agent" of each episode: who produced it (any hashable). With equally consistent agents it is the
    plain majority vote. Arguments are those of `VoteReward`.
    """

    paper = "RLCCF, arXiv 2508.12338"
    needs = frozenset({"agent"})

    def __init__(
        self,
        weight: str | Callable[..., Sequence[float]] = "self-consistency",
        partition: str | Partition = "whole",
        bonus: str | Bonus = "none",
        key: Key | None = None,
        answer_format: str = "any",
    ):
        super().__init__(weight, partition, bonus, key, answer_format)
