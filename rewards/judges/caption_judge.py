"""Annotation of captions by a judge: scores of single captions, and preferences between two (ONI)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ...checks import Declared, declared, option
from .judge import check_judge

Pair = tuple[str, str]
PRINCIPLE = "The text shows that the agent has made progress in its task, or has found something that helps in it."


@declared
class CaptionJudge(Declared):
    """Annotator of captions by a judge's scores. Captions that could not be judged are left out and retried later."""

    judge: Any = option(
        check=check_judge, says='see `as_judge`; "agent" is an agent, once `palaestra.agents.agent_judge` is imported.'
    )
    principle: str = option(default=PRINCIPLE, says="scoring standard for captions, in words.")
    task: str = option(default="", says="the task that the captions are about.")

    def __call__(self, captions: Sequence[str]) -> dict[str, float]:
        """Return caption -> score in [0, 1], without the captions that could not be judged."""
        calls = [partial(self.judge.score, self.principle, self.task, [caption]) for caption in captions]
        answers = self.judge.gather(calls)
        return {caption: one.scores[0] for caption, one in zip(captions, answers, strict=True) if one.valid}

    def compare(self, pairs: Sequence[Pair]) -> dict[Pair, float]:
        """Return pair -> preference: 1 if the first caption is better, 0 if the second is, 0.5 for a tie. Pairs that
        could not be judged are left out."""
        answers = self.judge.gather([partial(self.judge.score, self.principle, self.task, pair) for pair in pairs])
        return {
            pair: 0.5 + 0.5 * ((one.scores[0] > one.scores[1]) - (one.scores[0] < one.scores[1]))
            for pair, one in zip(pairs, answers, strict=True)
            if one.valid
        }

    def __repr__(self) -> str:
        return f"{self.judge!r}: {self.principle}"
