"""Rewards without reference answers, labelled otherwise than by the vote of the whole group.

SCOPE labels each subgroup by a vote weighted by the model's confidence. Co-rewarding takes the label from a rephrased
question or from a slowly moving teacher. The plain vote is in `votes.py`.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Literal

import numpy as np

from ...checks import Declared, declared, option
from ...errors import InputError
from ..episode import Episode
from ..reward import BatchReward, register
from ..verifiers.text import normalise
from .votes import PARTITIONS, WEIGHTS, Ballot, Key, Vote, answer_key, equal_weights


def step_confidence(steps: Sequence[Any]) -> float:
    """Return the mean over steps of their mean token confidence, in nats, so that every step counts alike (SCOPE).

    Args:
        steps: for each reasoning step (the text between blank lines), the confidences of its tokens in nats: minus the
            mean log-probability of the candidate tokens, larger for a peakier distribution. A flat sequence of numbers
            is one step. Steps without tokens are left out. If no step remains, or a number is missing (None, NaN) or
            infinite, the confidence is 0 and the vote does not count.
    """
    nested = steps if len(steps) and isinstance(steps[0], (Sequence, np.ndarray)) else [steps]
    means = [float(np.mean(np.asarray(step, dtype=np.float64))) for step in nested if len(step)]
    confidence = float(np.mean(means)) if means else 0.0
    return confidence if np.isfinite(confidence) else 0.0


def token_confidence(episodes: Sequence[Episode], answers: Sequence[str | None]) -> list[float]:
    """Return `step_confidence` of ``episode.extra("token_confidence")`` for each episode."""
    return [step_confidence(episode.extra("token_confidence")) for episode in episodes]


token_confidence.needs = frozenset({"token_confidence"})  # type: ignore[attr-defined]
WEIGHTS.add("token-confidence", token_confidence)


def pareto_choice(sizes: Sequence[int], rewards: Sequence[float], diversity: Sequence[float], balance: float) -> int:
    """Return the size on the Pareto front (of reward and diversity) that is nearest to the maximum of both (SCOPE).

    Reward and diversity are scaled to [0, 1] over the front (1 if all are equal); the distance weighs reward by
    ``balance`` and diversity by 1 - ``balance``. Ties go to the largest size, which is nearest to one vote for all.
    """
    points = list(zip(rewards, diversity, sizes, strict=True))
    front = [
        (reward, variety, size)
        for reward, variety, size in points
        if not any(r >= reward and d >= variety and (r, d) != (reward, variety) for r, d, _ in points)
    ]

    def scale(values: Sequence[float]) -> np.ndarray:
        low, high = min(values), max(values)
        return (np.asarray(values) - low) / (high - low) if high > low else np.ones(len(values))

    r, d = scale([point[0] for point in front]), scale([point[1] for point in front])
    distance = np.sqrt(balance * (1 - r) ** 2 + (1 - balance) * (1 - d) ** 2)
    nearest = min(zip(distance, front, strict=True), key=lambda pair: (pair[0], -pair[1][2]))
    return nearest[1][2]


def _check_sizes(name: str, sizes: Sequence[int]) -> Sequence[int]:
    if sizes and all(size >= 1 for size in sizes):
        return sizes
    raise InputError(f"{name} must be one or more sizes of at least 1, or None, not {sizes!r}.")


@PARTITIONS.register("pareto")
@declared
class ParetoSubgroups(Declared):
    """Subgroups of g consecutive episodes that share a label; one g is chosen for the whole training step.

    The label of a subgroup is the weighted vote of a random share of the whole group. Candidates for g are the powers
    of two up to the size of the largest group, and that size; `pareto_choice` takes the one that best balances mean
    reward and mean number of distinct labels.
    """

    balance: float = option(default=0.7, low=0, high=1, says="weight of the reward against the diversity.")
    ballots: float = option(default=0.5, above=0, high=1, says="share of the group that votes on each label.")
    seed: int = option(default=0, says="seed of the draws, together with the task, g and the subgroup.")
    sizes: Sequence[int] | None = option(
        default=None, check=_check_sizes, says="candidates for g; None: powers of two, and the largest group's size."
    )

    def __call__(self, ballots: Sequence[Ballot]) -> list[list[str | None]]:
        largest = max(len(ballot.answers) for ballot in ballots)
        sizes = self.sizes or sorted({2**k for k in range(largest.bit_length()) if 2**k <= largest} | {largest})
        options = {size: [self.labels(ballot, size) for ballot in ballots] for size in sizes}
        rewards, diversity = [], []
        for labels in options.values():
            pairs = list(zip(ballots, labels, strict=True))
            agree = [
                a is not None and a == b for ballot, row in pairs for a, b in zip(ballot.answers, row, strict=True)
            ]
            rewards.append(float(np.mean(agree)))
            diversity.append(float(np.mean([len(set(row) - {None}) for row in labels])))
        return options[pareto_choice(list(options), rewards, diversity, self.balance)]

    def labels(self, ballot: Ballot, size: int) -> list[str | None]:
        """Return the label of each episode if subgroups of ``size`` episodes share a label."""
        number = len(ballot.answers)
        share = max(1, round(self.ballots * number))
        task = zlib.crc32(ballot.episodes[0].task_id.encode("utf-8", "surrogatepass"))
        labels: list[str | None] = []
        for run in range(0, number, size):
            voters = None
            if share < number:
                voters = np.random.default_rng([self.seed, task, size, run]).permutation(number)[:share].tolist()
            labels += [ballot.winner(voters)] * min(size, number - run)
        return labels


@register("scope")
class StepConfidenceVote(Vote):
    """`VoteReward` weighted by step-wise confidence, with the Pareto choice of the subgroup size.

    ``episode.extra("token_confidence")`` is read by `step_confidence`. Judge all groups of a training step with one
    call of `batch`: the subgroup size is chosen over them together. The released code drops missing answers before it
    pairs answers with confidences, which shifts later weights to wrong answers; here each episode keeps its own weight.
    """

    paper = "SCOPE (subgroup-specific step-wise confidence), arXiv 2512.15146"
    needs = frozenset({"token_confidence"})
    weight = "token-confidence"
    balance: float = option(default=0.7, low=0, high=1, says="weight of the reward against the diversity.")
    ballots: float = option(default=0.5, above=0, high=1, says="share of the group that votes on each label.")
    seed: int = option(default=0, says="seed of the draws, together with the task, g and the subgroup.")
    key: Key = option(default=None, says='see the reward "majority-vote".')
    answer_format: str = option(default="any", says='see the reward "majority-vote".')

    def setup(self) -> None:
        self.partition = ParetoSubgroups(self.balance, self.ballots, self.seed)
        super().setup()


@register("co-rewarding")
class CoRewarding(BatchReward):
    """1 for the label's answer and 0 otherwise, where the label comes from another view of the task.

    A policy that votes on its own answers can agree with itself by giving up; agreement across two phrasings of a
    question, or with a teacher that lags behind, is harder to fake. Without a label the reward is 0. Ties are broken as
    in `Ballot.winner`.

    View "cross" is the majority answer of the other group with the same ``episode.extra("pair")``; if that group is not
    in the batch, the verdicts are invalid. "same" is the majority of the same group, "teacher" the answer of a teacher:
    an average of past policies that the learner keeps.

    Raises:
        InputError: when called, three groups with one "pair", or two in one group.
    """

    paper = "Co-rewarding, arXiv 2508.00410"
    complete = True
    needs = frozenset({"pair"})
    bounds = (0.0, 1.0)
    view: Literal["cross", "same", "teacher"] = option(default="cross", says="source of the label.")
    teacher: Callable[[Episode], str | None] | None = option(
        default=None,
        says='maps an episode to the teacher\'s answer; None reads ``episode.extra("teacher_answer")``.',
    )
    key: Key = option(default=None, says='see "majority-vote"; a teacher\'s answer is normalised as text.')
    answer_format: str = option(default="any", says='see the reward "majority-vote".')

    def setup(self) -> None:
        if self.teacher is not None and self.view != "teacher":
            raise InputError(f"a teacher labels only with view='teacher', not with view={self.view!r}.")
        self.key = self.key or answer_key(self.answer_format)
        extra = {"cross": {"pair"}, "same": set(), "teacher": set() if self.teacher else {"teacher_answer"}}
        self.needs = frozenset(extra[self.view])

    def values(self, groups: Sequence[Sequence[Episode]]) -> list[list[float | None]]:  # type: ignore[override]
        answers = [[self.key(episode) for episode in group] for group in groups]
        if self.view == "teacher":
            teacher = self.teacher or (lambda episode: episode.extra("teacher_answer"))
            found = [[teacher(episode) for episode in group] for group in groups]
            labels = [[None if answer is None else normalise(answer) or None for answer in row] for row in found]
            return [list(map(_agreement_reward, *row)) for row in zip(answers, labels, strict=True)]
        winners = [
            Ballot(tuple(group), tuple(row), tuple(equal_weights(group, row))).winner()
            for group, row in zip(groups, answers, strict=True)
        ]
        partners = list(range(len(groups))) if self.view == "same" else _find_partners(groups)
        return [
            [None] * len(row) if partner is None else [_agreement_reward(answer, winners[partner]) for answer in row]
            for row, partner in zip(answers, partners, strict=True)
        ]


def _agreement_reward(answer: str | None, label: str | None) -> float:
    return float(answer is not None and answer == label)


def _find_partners(groups: Sequence[Sequence[Episode]]) -> list[int | None]:
    """Return for each group the index of the other group with the same ``episode.extra("pair")``, or None."""
    indices: dict[Hashable, list[int]] = {}
    for index, group in enumerate(groups):
        names = {episode.extra("pair") for episode in group}
        if len(names) > 1:
            raise InputError(f"the episodes of one group must share one 'pair', not {sorted(map(repr, names))}.")
        indices.setdefault(names.pop(), []).append(index)
    for name, members in indices.items():
        if len(members) > 2:
            raise InputError(f"at most two groups can share the pair {name!r}, not {len(members)}.")
    partner = {members[i]: members[1 - i] for members in indices.values() if len(members) == 2 for i in (0, 1)}
    return [partner.get(index) for index in range(len(groups))]
