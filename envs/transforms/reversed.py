"""palaestra/Reversed-v0: given the answer to a question, find a number of the question."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np

from ...rewards import Verdict
from ...rewards.answers.equalities import BLANK, NUMBER, equality_holds
from ...rewards.answers.numbers import read_number
from ..question import Question, Task
from ..registration import register
from .transform import MAX_DRAWS, Transform

# Smaller numbers would be guessed.
SMALLEST = 3
_VALUE = re.compile(r"([^=?\n]+) = \?")
_EQUATION = re.compile(r"Solve ([^=?\n]+ = [^=?\n]+?)\. ")


class Reversed(Transform):
    """Find a hidden number of a question, given its answer.

    Description:
        The inner family ``of`` must ask for the value of an expression (``3 + 90 + 62 = ?``) or for the solution of an
        equation in x (``Solve 3x + 4 = 19.``). One number of the question, 3 or more, is hidden, and the answer is
        given; only the hidden number leads to this answer.

    Parameters:
        The axes of the inner family; by default those of palaestra/Arithmetic-v0: terms (2 to 6), digits (1 to 6),
        operations ("+", "+-", "+-*"); terms on request from 2 to 20, digits from 1 to 15.

    Observation:
        Text such as ``3 + # + 62 = 155. Which number is #? Answer with that number alone.``, or ``#x + 4 = 19 has the
        solution x = 5. Which number is #? Answer with that number alone.``

    Actions:
        Text with one number, read in ``answer_format``.

    Reward:
        1 for a number that leads to the given answer; 0 otherwise. On the easiest tasks, which have one-digit numbers,
        a constant from 3 to 9 is right by chance in a seventh of the tasks, or 0.15.

    Termination:
        After the first answer.

    Source:
        Backward questions as in MetaMath (arXiv 2309.12284); generated here.
    """

    def __init__(self, *, of: str = "palaestra/Arithmetic-v0", **kwargs: Any):
        super().__init__(of=of, **kwargs)
        # Refuse an unsuitable family now rather than at a reset.
        for difficulty in (0.0, 1.0):
            self.generate(np.random.default_rng(0), self.param_space.at(difficulty))

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        inner = self.inner_params(params)
        for _ in range(MAX_DRAWS):
            task = self.inner.generate(rng, inner)
            pick = rng.random()
            answer = read_number(self.inner.oracle(task))
            statement, x = _find_statement(task.terse or task.prompt, answer)
            spots = [spot for spot in NUMBER.finditer(statement) if Fraction(spot[0]) >= SMALLEST]
            if not spots:
                continue
            spot = spots[int(pick * len(spots))]
            line = f"{statement[: spot.start()]}{BLANK}{statement[spot.end() :]}"
            if x is None:
                line += f" = {answer}"
            if not _is_unique(line, Fraction(spot[0]), x):
                continue
            premise = line if x is None else f"{line} has the solution x = {x}"
            prompt = f"{premise}. Which number is {BLANK}? Answer with that number alone."
            return Task(prompt, {"number": spot[0], "line": line, "x": x}, data=task)
        raise self.unsuitable("its questions are neither like 3 + 4 = ? nor like Solve 3x + 4 = 19.")

    def verify(self, task: Task, answer: str) -> Verdict:
        value = read_number(answer)
        if value is None:
            return Verdict(0.0, False, feedback="The answer must be one number, such as 12 or 3/4.", malformed=True)
        if _is_solution(task.reference["line"], value, task.reference["x"]):
            return Verdict(1.0, True, feedback="Correct.")
        return Verdict(0.0, False, feedback="This number does not lead to the answer that was told.")

    def oracle(self, task: Task) -> str:
        return task.reference["number"]

    criteria = Question.criteria

    def solution_steps(self, task: Task) -> list[str]:
        """List the statement with the number put in, and the number."""
        number = task.reference["number"]
        return [task.reference["line"].replace(BLANK, number), number]


def _find_statement(prompt: str, answer: Fraction | None) -> tuple[str, Fraction | None]:
    """Return the expression or equation of a prompt, and the x that solves the equation. Return "" if there is neither,
    or the answer is not a number."""
    if answer is None:
        return "", None
    value, equation = _VALUE.match(prompt), _EQUATION.match(prompt)
    if value:
        return value[1], None
    return (equation[1], answer) if equation else ("", None)


def _is_solution(line: str, value: Fraction, x: Fraction | None) -> bool:
    """Return True if ``value`` in the gap makes ``line`` true for the given x and for no other."""
    return equality_holds(line, value, x) is True and (x is None or equality_holds(line, value, x + 1) is False)


def _is_unique(line: str, value: Fraction, x: Fraction | None) -> bool:
    """Return True if ``value`` fits and other numbers near it do not."""
    others = (value - 1, value + 1, -value, 2 * value, Fraction(0), Fraction(1))
    return _is_solution(line, value, x) and not any(_is_solution(line, other, x) for other in others)


register("palaestra/Reversed-v0", f"{__name__}:Reversed")
