"""Reward "exemplar": a response compared with a strong one that is stored, in three levels, also across languages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...checks import check_number, option
from ...errors import InputError, shorten
from ..episode import Episode
from ..reward import PooledReward, register
from ..terms.format import check_tags, tags_in_order
from .judge import check_judge


def _check_levels(name: str, levels: Sequence[float]) -> tuple[float, float, float]:
    worse, similar, better = levels if isinstance(levels, (tuple, list)) and len(levels) == 3 else (1.0, 0.0, 0.0)
    if check_number(name, worse) <= check_number(name, similar) <= check_number(name, better):
        return float(worse), float(similar), float(better)
    raise InputError(f"{name} must be three values that do not fall, worse, similar and better, not {levels!r}.")


@dataclass(frozen=True, slots=True)
class Exemplar:
    """Strong response to a source text.

    Attributes:
        source: text that the prompts for it contain.
        text: the response.
        language: its language as prompts name it; "" for a response that suits every prompt.
    """

    source: str
    text: str
    language: str = ""


def read_exemplars(file: str) -> tuple[Exemplar, ...]:
    """Read lines of JSON with "source", "exemplar" and perhaps "language".

    Raises:
        InputError: the file cannot be read, has no row, or a row lacks a text.
    """
    found = list[Exemplar]()
    try:
        lines = Path(file).read_text(encoding="utf-8").split("\n")
        for number, line in enumerate(lines, 1):
            row: Any = json.loads(line) if line.strip() else {}
            source, text = row.get("source"), row.get("exemplar")
            if row and not all(isinstance(each, str) and each.strip() for each in (source, text)):
                raise ValueError(f"line {number} needs texts 'source' and 'exemplar', not {shorten(line)}")
            found += [Exemplar(source, text, str(row.get("language") or ""))] if row else []
        if not found:
            raise ValueError("it has no row")
    except (OSError, UnicodeDecodeError, ValueError, AttributeError) as error:
        raise InputError(f"{file!r} is no file of exemplars: {error}.") from None
    # The longest source that a prompt contains is its own.
    return tuple(sorted(found, key=lambda exemplar: -len(exemplar.source)))


@register("exemplar")
class ExemplarComparison(PooledReward):
    """Level of a response beside an exemplar: worse, similar or better by a judge who sees both, in both orders.

    The exemplar is ``episode.extra("reference")``, such as a strong model's translation in a column of a data set, or
    that of the row of ``exemplars`` whose source the prompt contains, in the language that the prompt names. Where only
    other languages have an exemplar it is used across languages, as in the paper's multilingual training, and the judge
    is told so. A response in another form than the tags ask for gets the lowest level, and is not judged.
    """

    paper = "ExTrans, arXiv 2505.12996 (levels and gate are not stated)"
    needs = frozenset({"reference"})
    judge: Any = option(default="rules", check=check_judge, says='a `Judge`, its name, or {"judge": name, ...options}.')
    exemplars: Any = option(
        default=None,
        check=lambda _, file: None if file is None else read_exemplars(str(file)),
        says='file of rows with "source", "exemplar" and perhaps "language"; None: the episode has its own.',
    )
    principle: str = option(default="matches the reference", says="the standard of judgement, in words.")
    levels: tuple[float, float, float] = option(
        default=(0.0, 0.5, 1.0), check=_check_levels, says="values of worse, similar and better."
    )
    margin: float = option(default=0.0, low=0, high=1, says="largest difference of the scores that counts as similar.")
    tags: Sequence[str] | None = option(
        default=None, check=check_tags, says="names of the tags of a response, in order; None for any form."
    )

    def setup(self) -> None:
        self.needs = frozenset({"reference"}) if self.exemplars is None else frozenset()

    @property
    def bounds(self) -> tuple[float, float]:
        return self.levels[0], self.levels[2]

    def values(self, episodes: Sequence[Episode]) -> list[float | str]:
        judged = [e for e in episodes if self.tags is None or tags_in_order(e.response, self.tags)]
        calls = []
        for episode in judged:
            exemplar, principle = self._find(episode)
            for pair in ([episode.response, exemplar], [exemplar, episode.response]):
                calls.append(lambda e=episode, a=principle, p=pair, x=exemplar: self.judge.score(a, e.prompt, p, x))
        answers = iter(self.judge.gather(calls))
        compared = {id(episode): (next(answers), next(answers)) for episode in judged}
        return [self._level(*compared[id(e)]) if id(e) in compared else self.levels[0] for e in episodes]

    def _find(self, episode: Episode) -> tuple[str, str]:
        """Return the exemplar of an episode, and the principle by which both are judged."""
        if self.exemplars is None:
            exemplar = episode.extra("reference")
            if not isinstance(exemplar, str) or not exemplar.strip():
                raise InputError(f"the exemplar must be text that is not blank, not {exemplar!r}.")
            return exemplar, self.principle
        known = [one for one in self.exemplars if one.source in episode.prompt]
        own = [one for one in known if one.source == known[0].source]
        if not own:
            raise InputError(f"no exemplar has its source in the prompt {shorten(episode.prompt)!r}; add a row for it.")
        for one in own:
            if one.language in episode.prompt:
                return one.text, self.principle
        other = own[0].language
        return own[0].text, (
            f"{self.principle}. One of the responses is in {other}, another language than the prompt asks for: judge "
            "what each says, as if both were in the language that the prompt asks for"
        )

    def _level(self, there: Any, back: Any) -> float | str:
        if not (there.valid and back.valid):
            return (back if there.valid else there).error or "the judge failed"
        lead = (there.scores[0] + back.scores[1] - there.scores[1] - back.scores[0]) / 2
        worse, similar, better = self.levels
        return similar if abs(lead) <= self.margin else better if lead > 0 else worse
