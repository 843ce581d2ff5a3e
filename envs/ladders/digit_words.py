"""Answers that are a row of digits: a word in a code, or what a rule makes of a word of digits."""

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
    """A question about a word, whose answer has one digit from 1 to 9 for each sign: ``31724``, or apart, ``3 1 7``."""

    verifier = "integer"

    def verify(self, task: Task, answer: str) -> Verdict:
        return super().verify(task, re.sub(r"[ ,;]+", "", answer) if _APART.fullmatch(answer) else answer)


class DigitRule(DigitWord):
    """A word of digits to which a rule is applied; the rung of the ladder is the length of the answer.

    A small model has to find its place in a longer word than it has practised: the rule is the same everywhere.

    Class attributes:
        rule: its name, which is all that the terse question says of it beside the word.
        question: the question in sentences, with ``{word}`` for the word.
    """

    rule: ClassVar[str]
    question: ClassVar[str]
    param_space = ParamSpace([IntAxis("length", 4, 40, limits=(2, LONGEST)), IntAxis("digits", 3, 8, limits=(2, 8))])

    @abstractmethod
    def apply(self, word: list[int]) -> list[int]:
        """Return the digits of the answer, each from 1 to 9 and each on its own part of the word."""

    def word_length(self, length: int) -> int:
        """Return how long a word is that has an answer of ``length`` digits."""
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
        """Return the right digits of the first ``known["length"]`` places and digits of other words for the others."""
        return self.oracle(episode)[: known["length"]] + self.random_action(episode, rng)[known["length"] :]

    def random_action(self, episode: Task, rng: np.random.Generator) -> str:
        word = rng.integers(1, episode.data + 1, len(episode.content))
        return "".join(map(str, self.apply(word.tolist())))

    def solver_cost(self, episode: Task) -> float:
        """The number of digits."""
        return float(len(self.oracle(episode)))
