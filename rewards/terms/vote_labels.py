"""Rewards without reference answers whose label is not the vote of the whole group.

SCOPE labels each subgroup by a vote weighted by the model's confidence. Co-rewarding takes the label from a rephrased
question or from a slowly moving teacher. The plain vote is in `votes.py`.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from ...errors import InputError, unknown_name
from ..episode import Episode
from ..reward import BatchReward, register
from ..verifiers.text import normalise
from .votes import PARTITIONS, WEIGHTS, Ballot, Key, VoteReward, answer_key, equal_weights


def step_confidence(steps: Sequence[Any]) -> float:
    """Average the steps' mean token confidences, so that every step counts alike (SCOPE).

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
    """`step_confidence` of the extra "token_confidence" of each episode."""
    return [step_confidence(episode.extra("token_confidence")) for episode in episodes]


token_confidence.needs = frozenset({"token_confidence"})  # type: ignore[attr-defined]
WEIGHTS.add("token-confidence", token_confidence)


def pareto_choice(sizes: Sequence[int], rewards: Sequence[float], diversity: Sequence[float], balance: float) -> int:
    """The size on the Pareto front (of reward and diversity) that is nearest to the maximum of both (SCOPE).

    Both are scaled to [0, 1] over the front (1 where they do not differ); the distance weighs reward by ``balance``
    and diversity by 1 - ``balance``. Ties go to the largest size, which is nearest to one vote for all.
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


@PARTITIONS.register("pareto")
class ParetoSubgroups:
    """Subgroups of g consecutive episodes that share a label; one g is chosen for the whole training step.

    The label of a subgroup is the weighted vote of a random share of the whole group. Candidates for g are the powers
    of two up to the size of the largest group, and that size; `pareto_choice` takes the one that best balances mean
    reward and mean number of distinct labels.

    Args:
        balance: weight of the reward against the diversity, in [0, 1].
        ballots: share of the group that votes on each label, in (0, 1]; with 1 all subgroups have the same label.
        seed: seed of the draws, which depend only on the seed, the task, g and the subgroup.
        sizes: candidates for g instead of the powers of two.
    """

    def __init__(self, balance: float = 0.7, ballots: float = 0.5, seed: int = 0, sizes: Sequence[int] | None = None):
        if not 0 <= balance <= 1:
            raise InputError(f"balance must lie in [0, 1], not {balance!r}.")
        if not 0 < ballots <= 1:
            raise InputError(f"ballots must be a share in (0, 1], not {ballots!r}.")
        if seed < 0:
            raise InputError(f"seed must be 0 or more, not {seed!r}.")
        if sizes is not None and (not sizes or any(size < 1 for size in sizes)):
            raise InputError(f"sizes must be one or more sizes of at least 1, or None, not {sizes!r}.")
        self.balance, self.ballots, self.seed, self.sizes = balance, ballots, seed, sizes

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
class StepConfidenceVote(VoteReward):
    """`VoteReward` weighted by step-wise confidence, with the Pareto choice of the subgroup size.

    Needs the extra "token_confidence", as `step_confidence` reads it. Judge all groups of a training step with one
    call of `batch`: the subgroup size is chosen over them together. The released code drops missing answers before it
    pairs answers with confidences, which shifts later weights to wrong answers; here each episode keeps its own weight.

    Args:
        balance: see `ParetoSubgroups`.
        ballots: see `ParetoSubgroups`.
        seed: see `ParetoSubgroups`.
        key: see `VoteReward`.
        answer_format: see `VoteReward`.
    """

    paper = "SCOPE (subgroup-specific step-wise confidence), arXiv 2512.15146"
    needs = frozenset({"token_confidence"})

    def __init__(
        self,
        balance: float = 0.7,
        ballots: float = 0.5,
        seed: int = 0,
        key: Key | None = None,
        answer_format: str = "any",
    ):
        partition = ParetoSubgroups(balance, ballots, seed)
        super().__init__("token-confidence", partition, "none", key, answer_format)


_VIEWS = ("cross", "same", "teacher")


@register("co-rewarding")
class CoRewarding(BatchReward):
    """1 for the label's answer and 0 otherwise, where the label comes from another view of the task.

    Args:
        view: "cross": the majority answer of the group with the same extra "pair"; a group whose partner is not in the
            batch cannot be judged (``valid=False``). "same": the majority of the same group. "teacher": the label of a
            teacher, an average of past policies that the learner keeps.
        teacher: for "teacher", maps an episode to the teacher's answer (None for none); without it the extra
            "teacher_answer" is read.
        key: see `VoteReward`; the teacher's answer is normalised as text and compared with the keys.
        answer_format: see `VoteReward`.

    A policy that votes on its own answers can agree with itself by giving up; agreement across two phrasings of a
    question, or with a teacher that lags behind, is harder to fake. Without a label the reward is 0. Ties are broken as
    in `Ballot.winner`.

    Raises:
        InputError: unknown view or format; when called, three groups with one "pair", or two in one group.
    """

    paper = "Co-rewarding, arXiv 2508.00410"
    complete = True
    needs = frozenset({"pair"})

    def __init__(
        self,
        view: str = "cross",
        teacher: Callable[[Episode], str | None] | None = None,
        key: Key | None = None,
        answer_format: str = "any",
    ):
        if view not in _VIEWS:
            raise unknown_name("view", str(view), _VIEWS)
        if teacher is not None and view != "teacher":
            raise InputError(f"a teacher labels only with view='teacher', not with view={view!r}.")
        self.view = view
        self.teacher = teacher
        self.key = key or answer_key(answer_format)
        extra = {"cross": {"pair"}, "same": set(), "teacher": set() if teacher else {"teacher_answer"}}
        self.needs = frozenset(extra[view])

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    def values(self, groups: Sequence[Sequence[Episode]]) -> list[list[float | None]]:  # type: ignore[override]
        answers = [[self.key(episode) for episode in group] for group in groups]
        if self.view == "teacher":
            labels = [[self._teacher_label(episode) for episode in group] for group in groups]
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

    def _teacher_label(self, episode: Episode) -> str | None:
        answer = self.teacher(episode) if self.teacher else episode.extra("teacher_answer")
        return normalise(answer) or None if answer is not None else None


def _agreement_reward(answer: str | None, label: str | None) -> float:
    return float(answer is not None and answer == label)


def _find_partners(groups: Sequence[Sequence[Episode]]) -> list[int | None]:
    """Return for each group the index of the other group with the same extra "pair", or None."""
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
