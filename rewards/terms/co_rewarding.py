"""Labels from another view of the task: the vote on a rephrased question, or a slowly moving teacher (Co-rewarding).

A policy that votes on its own answers can agree with itself by giving up; agreement across two phrasings of one
question, or with a teacher that lags behind, is harder to fake.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from ...errors import InputError, unknown_name
from ..episode import Episode
from ..reward import BatchReward, register
from ..verifiers.text import normalise
from .vote import Ballot, Key, answer_key, equal

_VIEWS = ("cross", "same", "teacher")


@register("co-rewarding")
class CoRewarding(BatchReward):
    """1 for the label's answer and 0 otherwise, where the label comes from another view of the task.

    Args:
        view: "cross": the majority answer of the paired group, the one with the same extra "pair"; a group whose
            partner is not in the batch cannot be judged (``valid=False``). "same": the group's own majority.
            "teacher": the label of a teacher, an average of past policies that the learner keeps.
        teacher: for "teacher", from an episode to the teacher's answer (None for none); without it the extra
            "teacher_answer" is read.
        key: see `VoteReward`; the teacher's answer is normalised as text and compared with the keys.
        answer_format: see `VoteReward`.

    No reward is paid where there is no label. Ties are broken as in `Ballot.winner`.

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
            labels = [[self._taught(episode) for episode in group] for group in groups]
            return [list(map(_paid, *row)) for row in zip(answers, labels, strict=True)]
        winners = [
            Ballot(tuple(group), tuple(row), tuple(equal(group, row))).winner()
            for group, row in zip(groups, answers, strict=True)
        ]
        partners = list(range(len(groups))) if self.view == "same" else _partners(groups)
        return [
            [None] * len(row) if partner is None else [_paid(answer, winners[partner]) for answer in row]
            for row, partner in zip(answers, partners, strict=True)
        ]

    def _taught(self, episode: Episode) -> str | None:
        answer = self.teacher(episode) if self.teacher else episode.extra("teacher_answer")
        return normalise(answer) or None if answer is not None else None


def _paid(answer: str | None, label: str | None) -> float:
    return float(answer is not None and answer == label)


def _partners(groups: Sequence[Sequence[Episode]]) -> list[int | None]:
    """For each group, the index of the other one of its pair, or None."""
    places: dict[Hashable, list[int]] = {}
    for place, group in enumerate(groups):
        names = {episode.extra("pair") for episode in group}
        if len(names) > 1:
            raise InputError(f"the episodes of one group must share one 'pair', not {sorted(map(repr, names))}.")
        places.setdefault(names.pop(), []).append(place)
    for name, members in places.items():
        if len(members) > 2:
            raise InputError(f"at most two groups can share the pair {name!r}, not {len(members)}.")
    partner = {members[i]: members[1 - i] for members in places.values() if len(members) == 2 for i in (0, 1)}
    return [partner.get(place) for place in range(len(groups))]
