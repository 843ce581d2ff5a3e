"""The environment's own reward: what the episode's steps were paid, term by term."""

from __future__ import annotations

from collections import defaultdict

from ..episode import Episode
from ..reward import Reward, register
from ..verdict import Verdict


@register("outcome")
class Outcome(Reward):
    """Sums the step rewards by term; ``Verdict.reward`` equals ``episode.reward``.

    A step that names no terms counts under "outcome". The score is 1 for a success and the progress otherwise.
    """

    complete = True

    def __call__(self, episode: Episode) -> Verdict:
        if not episode.valid:
            return self.verdict(episode, None)
        terms: defaultdict[str, float] = defaultdict(float)
        for step in episode.steps:
            for name, value in (step.terms or {"outcome": step.reward}).items():
                terms[name] += float(value)
        return Verdict(
            score=1.0 if episode.success else episode.progress,
            success=episode.success,
            terms=dict(terms) or {"outcome": 0.0},
        )
