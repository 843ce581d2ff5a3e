"""Reward "exemplar": a response compared with a strong one that is stored, in three levels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...checks import check_number, option
from ...errors import InputError
from ..episode import Episode
from ..reward import PooledReward, register
from ..terms.format import check_tags, tags_in_order
from .judge import check_judge


def _check_levels(name: str, levels: Sequence[float]) -> tuple[float, float, float]:
    worse, similar, better = levels if isinstance(levels, (tuple, list)) and len(levels) == 3 else (1.0, 0.0, 0.0)
    if check_number(name, worse) <= check_number(name, similar) <= check_number(name, better):
        return float(worse), float(similar), float(better)
    raise InputError(f"{name} must be three values that do not fall, worse, similar and better, not {levels!r}.")


@register("exemplar")
class ExemplarComparison(PooledReward):
    """Level of a response beside an exemplar: worse, similar or better by a judge who sees both, in both orders.

    The exemplar is ``episode.extra("reference")``, such as a strong model's translation in a column of a data set. A
    response in another form than the tags ask for gets the lowest level, and is not judged.
    """

    paper = "ExTrans, arXiv 2505.12996 (levels and gate are not stated)"
    needs = frozenset({"reference"})
    judge: Any = option(default="rules", check=check_judge, says='a `Judge`, its name, or {"judge": name, ...options}.')
    principle: str = option(default="matches the reference", says="the standard of judgement, in words.")
    levels: tuple[float, float, float] = option(
        default=(0.0, 0.5, 1.0), check=_check_levels, says="values of worse, similar and better."
    )
    margin: float = option(default=0.0, low=0, high=1, says="largest difference of the scores that counts as similar.")
    tags: Sequence[str] | None = option(
        default=None, check=check_tags, says="names of the tags of a response, in order; None for any form."
    )

    @property
    def bounds(self) -> tuple[float, float]:
        return self.levels[0], self.levels[2]

    def values(self, episodes: Sequence[Episode]) -> list[float | str]:
        judged = [e for e in episodes if self.tags is None or tags_in_order(e.response, self.tags)]
        calls = []
        for episode in judged:
            exemplar = episode.extra("reference")
            if not isinstance(exemplar, str) or not exemplar.strip():
                raise InputError(f"the exemplar must be text that is not blank, not {exemplar!r}.")
            for pair in ([episode.response, exemplar], [exemplar, episode.response]):
                calls.append(lambda e=episode, p=pair, x=exemplar: self.judge.score(self.principle, e.prompt, p, x))
        answers = iter(self.judge.gather(calls))
        compared = {id(episode): (next(answers), next(answers)) for episode in judged}
        return [self._level(*compared[id(e)]) if id(e) in compared else self.levels[0] for e in episodes]

    def _level(self, there: Any, back: Any) -> float | str:
        if not (there.valid and back.valid):
            return (back if there.valid else there).error or "the judge failed"
        lead = (there.scores[0] + back.scores[1] - there.scores[1] - back.scores[0]) / 2
        worse, similar, better = self.levels
        return similar if abs(lead) <= self.margin else better if lead > 0 else worse
