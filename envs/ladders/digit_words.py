"""Bases of questions about a word whose answer is a row of digits: the word decoded, or a rule applied to it."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ...rewards import Verdict
from ..param_space import IntAxis, ParamSpace
from ..question import Question, Task

LONGEST = 100
_APART = re.compile(r"[1-9](?:[ ,;]+[1-9])+")


class DigitWord(Question):
    """Base of questions about a word whose answer is a row of digits from 1 to 9: ``31724``, or apart, ``3 1 7``."""

    verifier = "integer"

    def verify(self, task: Task, answer: str) -> Verdict:
        return super().verify(task, re.sub(r"[ ,;]+", "", answer) if _APART.fullmatch(answer) else answer)


class DigitRule(DigitWord):
    """Base of questions that apply a rule to a word of digits; the rung of the ladder is the length of the answer.

    The rule is the same everywhere; the difficulty for a small model is to find its place in a longer word than it has
    practised.

    Class attributes:
        rule: the name of the rule; the terse prompt is this name and the word.
        question: the question in sentences, with ``{word}`` for the word.
    """

    rule: ClassVar[str]
    question: ClassVar[str]
    param_space = ParamSpace([IntAxis("length", 4, 40, limits=(2, LONGEST)), IntAxis("digits", 3, 8, limits=(2, 8))])

    @abstractmethod
    def apply(self, word: list[int]) -> list[int]:
        """Return the digits of the answer, each from 1 to 9 and computed from its own part of the word."""

    def word_length(self, length: int) -> int:
        """Return the length of a word whose answer has ``length`` digits."""
        return length

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        highest = params["digits"]
        word = rng.integers(1, highest + 1, self.word_length(params["length"])).tolist()
        text = "".join(map(str, word))
        return Task(
            self.question.format(word=text),
            int("".join(map(str, self.apply(word)))),
            content=text,
            data=highest,
            terse=f"{self.rule}: {text}",
        )

    def criteria(self, task: Task) -> list[str]:
        return [f"It writes {len(self.oracle(task))} digits."]

    def guess_action(self, episode: Task, known: Mapping[str, Any], rng: np.random.Generator) -> str:
        """Return the right digits in the first ``known["length"]`` places, and in the others those of a random word."""
        return self.oracle(episode)[: known["length"]] + self.random_action(episode, rng)[known["length"] :]

    def random_action(self, episode: Task, rng: np.random.Generator) -> str:
        word = rng.integers(1, episode.data + 1, len(episode.content))
        return "".join(map(str, self.apply(word.tolist())))

    def solver_cost(self, episode: Task) -> float:
        """Return the number of digits of the answer."""
        return float(len(self.oracle(episode)))
