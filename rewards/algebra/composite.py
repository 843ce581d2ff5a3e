"""What every reward made of other rewards shares: named parts, each judged once, and one verdict made of theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...errors import InputError
from ..episode import Episode
from ..reward import Reward
from ..verdict import Verdict


class Composite(Reward):
    """A reward of named parts. A subclass implements `combine` (or `combine_batch` where siblings matter).

    It needs what its parts need, and is complete where a part is. An episode for which a part has no valid verdict has
    none here either.

    Args:
        parts: the children by name, in the order in which the tree prints them.

    Raises:
        InputError: no parts, or something that is not a reward.
    """

    def __init__(self, parts: Mapping[str, Reward]):
        if not parts:
            raise InputError(f"{self.name!r} needs at least one named reward, such as {self.name}(correct=Outcome()).")
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
        kept: list[list[int]] = []
        for place, group in enumerate(groups):
            valid = [all(verdicts[place][i].valid for verdicts in judged.values()) for i in range(len(group))]
            kept.append([i for i, episode in enumerate(group) if episode.valid and valid[i]])
        terms = self.combine_batch(
            [[group[i] for i in indices] for group, indices in zip(groups, kept, strict=True)],
            [
                [{name: verdicts[place][i] for name, verdicts in judged.items()} for i in indices]
                for place, indices in enumerate(kept)
            ],
        )
        result = []
        for group, indices, of_group in zip(groups, kept, terms, strict=True):
            known = dict(zip(indices, of_group, strict=True))
            result.append([self._verdict(episode, known.get(i)) for i, episode in enumerate(group)])
        return result

    def _verdict(self, episode: Episode, terms: Mapping[str, float] | None) -> Verdict:
        if terms is None:
            return self.verdict(episode, None)
        plain = self.verdict(episode, sum(terms.values()))
        return Verdict(plain.score, plain.success, terms={name: float(value) for name, value in terms.items()})


class Single(Composite):
    """A composite of one part, which is its first argument; `adjusted` is what becomes of the part's value."""

    def __init__(self, child: Reward, **others: Reward):
        super().__init__({"child": child, **others})
        self.child = child
        self.needs = frozenset().union(child.needs, *(part.needs for part in others.values()))
        self.complete = child.complete

    def adjusted(self, episode: Episode, value: float, others: Mapping[str, Verdict]) -> float:
        """The new value, given the part's and the verdicts of the other parts."""
        raise NotImplementedError(f"{type(self).__name__} must implement adjusted(episode, value, others) -> float.")

    def combine(self, episode: Episode, verdicts: Mapping[str, Verdict]) -> Mapping[str, float]:
        child = verdicts["child"]
        return correct_terms(self.name, reward_terms(self.child, child), self.adjusted(episode, child.reward, verdicts))


def reward_terms(part: Reward, verdict: Verdict) -> Mapping[str, float]:
    """The verdict's terms, or its reward under the part's name where it has none."""
    return verdict.terms or {part.name: verdict.reward}


def correct_terms(name: str, terms: Mapping[str, float], value: float) -> dict[str, float]:
    """Terms that add up to ``value``: the only one replaced, or several with a correction beside them as ``name``."""
    if len(terms) == 1:
        return dict.fromkeys(terms, value)
    return {**terms, name: value - sum(terms.values())}


def name_terms(part: str, terms: Mapping[str, float]) -> dict[str, float]:
    """The terms of a part under its name: an only one is ``part``, of several each is ``part.term``."""
    if len(terms) == 1:
        return {part: sum(terms.values())}
    return {f"{part}.{name}": value for name, value in terms.items()}
