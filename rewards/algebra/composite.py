"""Bases of rewards made of other rewards: `Composite` with several named parts, and `Single` with one.

Each part judges an episode once; its verdict goes in, and one verdict with the combined terms comes out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...errors import InputError
from ..episode import Episode
from ..reward import Reward
from ..verdict import Verdict


class Composite(Reward):
    """A reward of named parts. A subclass implements `combine` (or `combine_batch` where siblings matter).

    It needs the extras that its parts need, and is complete if a part is. An episode with an invalid verdict of a part
    has an invalid verdict here.

    Args:
        parts: the children by name, in the order in which the tree prints them.

    Raises:
        InputError: no parts, or something that is not a reward.
    """

    def __init__(self, parts: Mapping[str, Reward]):
        if not parts:
            raise InputError(f"{self.name!r} needs at least one named reward: {self.name}(correct=Verifiable()).")
        for name, part in parts.items():
            if not isinstance(part, Reward):
                raise InputError(f"{self.name!r}: {name} must be a reward, not {part!r}; see palaestra.rewards.make.")
        self._parts = dict(parts)
        self.needs = frozenset().union(*(part.needs for part in parts.values()))
        self.complete = any(part.complete for part in parts.values())

    @property
    def children(self) -> Mapping[str, Reward]:
        return self._parts

    def combine(self, episode: Episode, verdicts: Mapping[str, Verdict]) -> Mapping[str, float]:
        """The terms of one episode, given the valid verdict of each part."""
        raise NotImplementedError(f"{type(self).__name__} must implement combine(episode, verdicts) -> terms.")

    def combine_batch(
        self, groups: Sequence[Sequence[Episode]], verdicts: Sequence[Sequence[Mapping[str, Verdict]]]
    ) -> list[list[Mapping[str, float]]]:
        """The terms of each episode of each group; all episodes and verdicts are valid."""
        return [
            [self.combine(episode, parts) for episode, parts in zip(group, judged, strict=True)]
            for group, judged in zip(groups, verdicts, strict=True)
        ]

    def __call__(self, episode: Episode) -> Verdict:
        return self.batch([[episode]])[0][0]

    def group(self, episodes: Sequence[Episode]) -> list[Verdict]:
        return self.batch([episodes])[0]

    def batch(self, groups: Sequence[Sequence[Episode]]) -> list[list[Verdict]]:
        judged = {name: part.batch(groups) for name, part in self._parts.items()}
        valid: list[list[int]] = [
            [
                i
                for i, episode in enumerate(group)
                if episode.valid and all(verdicts[g][i].valid for verdicts in judged.values())
            ]
            for g, group in enumerate(groups)
        ]
        terms = self.combine_batch(
            [[group[i] for i in indices] for group, indices in zip(groups, valid, strict=True)],
            [
                [{name: verdicts[g][i] for name, verdicts in judged.items()} for i in indices]
                for g, indices in enumerate(valid)
            ],
        )
        result = []
        for group, indices, group_terms in zip(groups, valid, terms, strict=True):
            known = dict(zip(indices, group_terms, strict=True))
            result.append([self._make_verdict(episode, known.get(i)) for i, episode in enumerate(group)])
        return result

    def _make_verdict(self, episode: Episode, terms: Mapping[str, float] | None) -> Verdict:
        if terms is None:
            return self.verdict(episode, None)
        plain = self.verdict(episode, sum(terms.values()))
        return Verdict(plain.score, plain.success, terms={name: float(value) for name, value in terms.items()})


class Single(Composite):
    """A composite of one part, its first argument. A subclass implements `adjust`, from the part's value to the new."""

    def __init__(self, child: Reward, **others: Reward):
        super().__init__({"child": child, **others})
        self.child = child
        self.needs = frozenset().union(child.needs, *(part.needs for part in others.values()))
        self.complete = child.complete

    def adjust(self, episode: Episode, value: float, others: Mapping[str, Verdict]) -> float:
        """The new value, given the part's value and the verdicts of all parts by name."""
        raise NotImplementedError(f"{type(self).__name__} must implement adjust(episode, value, others) -> float.")

    def combine(self, episode: Episode, verdicts: Mapping[str, Verdict]) -> Mapping[str, float]:
        child = verdicts["child"]
        return correct_terms(self.name, reward_terms(self.child, child), self.adjust(episode, child.reward, verdicts))


def reward_terms(part: Reward, verdict: Verdict) -> Mapping[str, float]:
    """The verdict's terms, or its reward under the part's name where it has none."""
    return verdict.terms or {part.name: verdict.reward}


def correct_terms(name: str, terms: Mapping[str, float], value: float) -> dict[str, float]:
    """Make ``terms`` add up to ``value``: replace a single one, or add the difference to several as term ``name``."""
    if len(terms) == 1:
        return dict.fromkeys(terms, value)
    return {**terms, name: value - sum(terms.values())}


def name_terms(part: str, terms: Mapping[str, float]) -> dict[str, float]:
    """Rename the terms of a part: a single one becomes ``part``, of several each becomes ``part.term``."""
    if len(terms) == 1:
        return {part: sum(terms.values())}
    return {f"{part}.{name}": value for name, value in terms.items()}
