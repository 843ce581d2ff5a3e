"""palaestra/Cloze-v0: any question with its worked solution and one number masked."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from ...rewards import Verdict
from ...rewards.answers.equalities import BLANK, NUMBER, equality_holds
from ...rewards.answers.numbers import read_number
from ..axes import ChoiceAxis
from ..question import Question, Task
from ..registration import register
from .transform import MAX_DRAWS, Transform

# Smaller numbers would be guessed.
SMALLEST = 3


class Cloze(Transform):
    """Find the masked number of a worked solution.

    Description:
        A question of the inner family ``of`` and its ``solution_steps``, among them at least one equation of plain
        numbers, such as ``12 + 30 = 42``. One number of such a line, 3 or more, is masked; if it is masked only once,
        it occurs in no other line. Any number that makes every masked line true is right; the masked number plus or
        minus 1 is never right.

    Parameters:
        masked ("once", "everywhere"): the number is masked at one place, or everywhere in the solution, including the
            answer.
        The axes of the inner family; by default those of palaestra/WordProblem-v0: steps (2 to 8), distractors (0 to
        3), size (20 to 100); steps on request from 1 to 30, distractors from 0 to 7, size from 10 to 1000.

    Observation:
        The inner question, ``A solution, where each # is the same number:``, its lines, and the form of the answer.

    Actions:
        Text with one number, read in ``answer_format``.

    Reward:
        1 for a number that makes every masked line true, 0 otherwise. A constant such as 10 is right by chance in at
        most 0.1 of the easiest tasks.

    Termination:
        After the first answer.

    Source:
        The fill-in format of Cog-DRIFT (arXiv 2604.04767).
    """

    own_axes = (ChoiceAxis("masked", ("once", "everywhere")),)

    def __init__(self, *, of: str = "palaestra/WordProblem-v0", **kwargs: Any):
        super().__init__(of=of, **kwargs)
        self.require_steps()

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        everywhere, inner = params["masked"] == "everywhere", self.inner_params(params)
        for _ in range(MAX_DRAWS):
            made = self.pose(self.inner.generate(rng, inner), rng, everywhere)
            if made is not None:
                return made
        raise self.unsuitable("its solutions hold no lines of plain numbers such as 12 + 30 = 42")

    def pose(self, task: Task, rng: np.random.Generator, everywhere: bool) -> Task | None:
        """Mask a number in the solution of an inner task. Return None if the solution has no suitable number, or the
        drawn one is not unique."""
        steps = self.inner.solution_steps(task)
        order, pick = rng.random(2).tolist()
        lines = [place for place, line in enumerate(steps[:-1]) if equality_holds(line)]
        if not lines:
            return None
        place = lines[int(order * len(lines))]
        # If masked only once, the number must not occur in another line, where it could be copied.
        others = () if everywhere else steps[:place] + steps[place + 1 :]
        copied = {number for line in others for number in NUMBER.findall(line)}
        spots = [s for s in NUMBER.finditer(steps[place]) if Fraction(s[0]) >= SMALLEST and s[0] not in copied]
        if not spots:
            return None
        spot = spots[int(pick * len(spots))]
        if everywhere:
            filled = [_mask(line, spot[0]) for line in steps]
        else:
            line = steps[place]
            filled = [*steps]
            filled[place] = f"{line[: spot.start()]}{BLANK}{line[spot.end() :]}"
        statements = [line for line in filled if BLANK in line and "=" in line]
        if any(BLANK in line for line in steps) or not _is_unique(statements, Fraction(spot[0])):
            return None
        prompt = (
            f"{self.inner.prompt_of(task)}\nA solution, where each {BLANK} is the same number:\n"
            + "\n".join(filled)
            + f"\nWhich number is {BLANK}? Answer with that number alone."
        )
        return Task(prompt, {"number": spot[0], "lines": statements}, data=task)

    def verify(self, task: Task, answer: str) -> Verdict:
        value = read_number(answer)
        if value is None:
            return Verdict(0.0, False, feedback="The answer must be one number, such as 12 or 3/4.", malformed=True)
        if all(equality_holds(line, value) for line in task.reference["lines"]):
            return Verdict(1.0, True, feedback="Correct.")
        return Verdict(0.0, False, feedback="With this number a line of the solution is not true.")

    def oracle(self, task: Task) -> str:
        return task.reference["number"]

    criteria = Question.criteria

    def solution_steps(self, task: Task) -> list[str]:
        number = task.reference["number"]
        return [*(line.replace(BLANK, number) for line in task.reference["lines"]), number]


def _mask(line: str, number: str) -> str:
    return NUMBER.sub(lambda spot: BLANK if spot[0] == number else spot[0], line)


def _is_unique(lines: list[str], value: Fraction) -> bool:
    """Return True if ``value`` makes all ``lines`` true, and its neighbours and other simple numbers do not."""
    others = [value - 1, value + 1, -value, 2 * value, Fraction(0), Fraction(1), value + Fraction(1, 7)]
    return all(equality_holds(line, value) for line in lines) and not any(
        all(equality_holds(line, other) for line in lines) for other in others
    )


register("palaestra/Cloze-v0", f"{__name__}:Cloze")
