"""Majority for selection, novelty for variation (EVOL-RL): among those who agree, unlike reasoning pays more."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..embedding import Embedder, HashedNgrams, cosines, embed
from ..reward import register
from .vote import BONUSES, Ballot, Key, VoteReward, Weight

_UNPARSED = -1.0


def novelty(similarity: np.ndarray, agreement: np.ndarray) -> np.ndarray:
    """How unlike its siblings each episode is, in [0, 1] within the majority and within the minority.

    One minus half the mean similarity to the own class and half the greatest to anybody, then scaled to [0, 1] over
    the class. A class of one, or without any spread, gets 1/2 (the released code leaves a class without spread
    unscaled).

    Args:
        similarity: [G, G], in [0, 1].
        agreement: [G], who agrees with the vote.
    """
    number = len(agreement)
    raw = np.zeros(number)
    for i in range(number):
        others = np.arange(number) != i
        own = similarity[i, others & (agreement == agreement[i])]
        nearest = similarity[i, others].max(initial=0.0)
        raw[i] = 1.0 - 0.5 * (float(own.mean()) if len(own) else 0.0) - 0.5 * nearest
    # Equal texts must be paid equally, so the last bits of a sum in another order must not tell them apart.
    raw = np.round(raw, 9)
    scaled = np.full(number, 0.5)
    for label in (False, True):
        members = agreement == label
        if members.any() and np.ptp(raw[members]) > 0:
            scaled[members] = (raw[members] - raw[members].min()) / np.ptp(raw[members])
    return scaled


@BONUSES.register("novelty")
class NoveltyBonus:
    """0.5 to 1 for agreement and -1 to -0.5 against it, the more the more novel; -1 without an answer.

    Args:
        embedder: from response texts to vectors; the cosine, clipped to [0, 1], is the similarity.
    """

    bounds = (-1.0, 1.0)

    def __init__(self, embedder: Embedder | None = None):
        self.embedder = embedder or HashedNgrams()

    def __call__(self, ballot: Ballot, agreement: np.ndarray) -> Sequence[float | None]:
        answered = np.array([answer is not None for answer in ballot.answers])
        rewards = np.where(agreement, 1.0, _UNPARSED)
        if len(ballot.episodes) > 1 and answered.any():
            texts = [episode.response for episode, kept in zip(ballot.episodes, answered, strict=True) if kept]
            rows = embed(self.embedder, texts)
            if rows is None:
                return [None] * len(ballot.episodes)
            base = np.where(agreement[answered], 0.5, -1.0)
            rewards[answered] = base + 0.5 * novelty(np.clip(cosines(rows), 0.0, 1.0), agreement[answered])
        return rewards.tolist()


@register("evol-rl")
class NoveltyVote(VoteReward):
    """`VoteReward` with the novelty bonus: every majority member outranks every minority member.

    An episode judged alone gets the plain label, 1 or -1.

    Args:
        embedder: see `NoveltyBonus`; by default hashed n-grams, offline.
        weight: see `VoteReward`.
        key: see `VoteReward`. The paper counts only numbers in a box as answers; the default takes any answer.
        answer_format: see `VoteReward`.
    """

    paper = "EVOL-RL, arXiv 2509.15194"

    def __init__(
        self,
        embedder: Embedder | None = None,
        weight: str | Weight = "equal",
        key: Key | None = None,
        answer_format: str = "any",
    ):
        super().__init__(weight, "whole", NoveltyBonus(embedder), key, answer_format)
