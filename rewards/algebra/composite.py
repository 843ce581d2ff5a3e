"""Bases of rewards made of other rewards: `Composite` with several named parts, and `Single` with one.

Each part judges an episode once, and the composite combines the parts' verdicts into one. Rewards of turns and spans
(parts of actions) are combined too, where they still have a meaning in the combination.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from ...errors import InputError
from ..attempt import attempt, to_finite_number
from ..episode import Episode
from ..reward import REWARDS, Reward
from ..verdict import RewardSpan, Verdict


@dataclass(frozen=True, slots=True)
class Parts:
    """Terms, steps and spans of a composite's verdict, with the meanings that they have in `Verdict`."""

    terms: Mapping[str, float]
    steps: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    spans: tuple[RewardSpan, ...] = ()

    @classmethod
    def of(cls, part: Reward, verdict: Verdict) -> Parts:
        """Copy terms, steps and spans of a verdict; a verdict without terms gets one, named after ``part``."""
        return cls(verdict.terms or {part.name: verdict.reward}, verdict.steps, verdict.spans)

    def rename(self, name: str) -> Parts:
        """Rename the terms after a part: a single term becomes ``name``, each of several terms ``name.term``."""
        names = dict.fromkeys(self.terms, name) if len(self.terms) == 1 else {t: f"{name}.{t}" for t in self.terms}
        terms = {names[term]: value for term, value in self.terms.items()}
        return Parts(terms, {names[term]: values for term, values in self.steps.items()}, self.spans)

    def scale(self, factor: float) -> Parts:
        """Multiply all terms, steps and spans by ``factor``."""
        terms = {name: factor * value for name, value in self.terms.items()}
        steps = {name: tuple(factor * value for value in values) for name, values in self.steps.items()}
        return Parts(terms, steps, tuple(replace(span, reward=factor * span.reward) for span in self.spans))

    def apply(self, name: str, function: Callable[[float], float]) -> Parts:
        """Replace the reward by a function of it.

        A single term is replaced by its function value, and its turns share the new value as in `apply_to_sum`, so that
        clipped turns earn nothing. Several terms stay, and the difference is added as a new term ``name``.
        """
        value = sum(self.terms.values())
        if len(self.terms) > 1:
            return Parts({**self.terms, name: function(value) - value}, self.steps, self.spans)
        terms = dict.fromkeys(self.terms, function(value))
        return Parts(terms, {term: apply_to_sum(values, function) for term, values in self.steps.items()})


def apply_to_sum(step_rewards: Sequence[float], function: Callable[[float], float]) -> tuple[float, ...]:
    """Compute rewards of turns that sum to f(sum of ``step_rewards``), with f the argument ``function``. With S_k the
    sum of ``step_rewards`` up to turn k, turn k gets f(S_k) - f(S_{k-1}); the last turn also gets f(0)."""
    reached, before, result = 0.0, function(0.0), []
    offset = before
    for reward in step_rewards:
        reached += reward
        result.append(function(reached) - before)
        before = function(reached)
    if result:
        result[-1] += offset
    return tuple(result)


def join_parts(parts: Sequence[Parts]) -> Parts:
    """Merge several `Parts` into one. Term names must be distinct: of equal names, the last replaces the others."""
    terms = {name: value for part in parts for name, value in part.terms.items()}
    steps = {name: values for part in parts for name, values in part.steps.items()}
    return Parts(terms, steps, tuple(span for part in parts for span in part.spans))


class Composite(Reward):
    """Reward made of named parts. A subclass implements `combine` (or `combine_batch` where siblings matter).

    A composite needs the extras that its parts need, and is complete if a part is complete. If the verdict of a part is
    invalid, so is the composite's verdict of that episode.

    A class with ``**parts`` has an ``__init__``; a class with declared options calls `take_parts` in ``setup``.
    """

    def __init__(self, parts: Mapping[str, Reward]):
        self.take_parts(parts)

    def take_parts(self, parts: Mapping[str, Reward]) -> None:
        """Store the parts as children, in the given order.

        Raises:
            InputError: no parts, or a part that is not a reward.
        """
        if not parts:
            raise InputError(f"{self.name!r} needs at least one named reward: {self.name}(correct=Verifiable()).")
        for name, part in parts.items():
            if not isinstance(part, Reward):
                if isinstance(part, Mapping) and "name" in part:
                    REWARDS[part["name"]]  # raises the error that names close rewards
                raise InputError(f"{self.name!r}: {name} must be a reward, not {part!r}; see palaestra.rewards.make.")
        self._parts = dict(parts)
        self.needs = frozenset().union(*(part.needs for part in parts.values()))
        self.complete = any(part.complete for part in parts.values())

    @property
    def children(self) -> Mapping[str, Reward]:
        return self._parts

    def combine(self, episode: Episode, verdicts: Mapping[str, Verdict]) -> Mapping[str, float] | Parts:
        """Return an episode's terms, given the valid verdict of each part; as `Parts` to include rewards of turns."""
        raise NotImplementedError(f"{type(self).__name__} must implement combine(episode, verdicts) -> terms.")

    def combine_batch(
        self, groups: Sequence[Sequence[Episode]], verdicts: Sequence[Sequence[Mapping[str, Verdict]]]
    ) -> list[list[Mapping[str, float] | Parts]]:
        """Return the terms of each episode of each group; all episodes and verdicts are valid."""
        return [
            [attempt(self.combine, episode, parts) for episode, parts in zip(group, judged, strict=True)]
            for group, judged in zip(groups, verdicts, strict=True)
        ]

    def __call__(self, episode: Episode) -> Verdict:
        return self.batch([[episode]])[0][0]

    def group(self, episodes: Sequence[Episode]) -> list[Verdict]:
        return self.batch([episodes])[0]

    def batch(self, groups: Sequence[Sequence[Episode]]) -> list[list[Verdict]]:
        judged = self.judge_parts(groups)
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
        for g, (group, indices, group_terms) in enumerate(zip(groups, valid, terms, strict=True)):
            known: dict[int, Mapping[str, float] | Parts | str | None] = {
                i: next((v[g][i].feedback for v in judged.values() if not v[g][i].valid), "") for i in range(len(group))
            }
            known |= dict(zip(indices, group_terms, strict=True))
            result.append([self._make_verdict(episode, known[i]) for i, episode in enumerate(group)])
        return result

    def judge_parts(self, groups: Sequence[Sequence[Episode]]) -> dict[str, list[list[Verdict]]]:
        """Let every part judge all groups in one call. Return part name -> verdicts, as [group][episode]."""
        return {name: part.batch(groups) for name, part in self._parts.items()}

    def _make_verdict(self, episode: Episode, combined: Mapping[str, float] | Parts | str | None) -> Verdict:
        if combined is None or isinstance(combined, str):
            return self.verdict(episode, combined)
        parts = combined if isinstance(combined, Parts) else Parts(combined)
        found = {name: to_finite_number(value) for name, value in parts.terms.items()}
        if wrong := next((value for value in found.values() if isinstance(value, str)), ""):
            return self.verdict(episode, wrong)
        terms = {name: value for name, value in found.items() if not isinstance(value, str)}
        plain = self.verdict(episode, math.fsum(terms.values()))  # type: ignore[arg-type]
        if not plain.valid:
            return plain
        made = attempt(partial(Verdict, terms=terms, steps=parts.steps, spans=parts.spans), plain.score, plain.success)
        return self.verdict(episode, made) if isinstance(made, str) else made


class Single(Composite):
    """Composite of one part, the first argument. A subclass implements `adjust`, which maps the part's value to the new
    one. `adjust` must be a pure function: it is also called with the sums of the part's rewards of the first turns."""

    child: Reward

    def __init__(self, child: Reward, **others: Reward):
        self.take_parts({"child": child, **others})

    def setup(self) -> None:
        self.take_parts({"child": self.child})

    def take_parts(self, parts: Mapping[str, Reward]) -> None:
        super().take_parts(parts)
        self.child = parts["child"]
        self.complete = self.child.complete

    def adjust(self, episode: Episode, value: float, others: Mapping[str, Verdict]) -> float:
        """Return the new value, given the part's value and the verdicts of all parts by name."""
        raise NotImplementedError(f"{type(self).__name__} must implement adjust(episode, value, others) -> float.")

    def combine(self, episode: Episode, verdicts: Mapping[str, Verdict]) -> Mapping[str, float] | Parts:
        child = Parts.of(self.child, verdicts["child"])
        return child.apply(self.name, lambda value: self.adjust(episode, value, verdicts))
