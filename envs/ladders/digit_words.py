"""Answers that are a row of digits, one for each sign of a word."""

from __future__ import annotations

import re

from ...rewards import Verdict
from ..question import Question, Task

_APART = re.compile(r"[1-9](?:[ ,;]+[1-9])+")


class DigitWord(Question):
    """A question about a word, whose answer has one digit from 1 to 9 for each sign: ``31724``, or apart, ``3 1 7``."""

    verifier = "integer"

    def verify(self, task: Task, answer: str) -> Verdict:
        return super().verify(task, re.sub(r"[ ,;]+", "", answer) if _APART.fullmatch(answer) else answer)
