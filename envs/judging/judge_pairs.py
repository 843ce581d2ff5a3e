"""palaestra/JudgePairs-v0: which of two solutions is right."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..param_space import ParamSpace
from ..question import Task
from ..registration import register
from .judging import ERROR, LEVEL, PLEAS, Judged, Judging
from .presentation import SolutionWriter, write_pair


class JudgePairs(Judging):
    """Say which of two solutions to a question is right.

    Description:
        One of the families ``of`` asks a question; a right solution and a spoilt one are shown. The spoilt one has a
        wrong sign, a result off by one or with two digits swapped, a wrong unit, steps too few or too many, a wrong
        operator, a misread number, a wrong answer, the solution of another question, or a wrong line and yet the right
        answer. Which of the two comes first, which is longer, which has Markdown and which pleads with the judge are
        four draws, independent of each other and of what is right, so that none of them helps.

    Parameters:
        level (0.0 to 1.0): difficulty of the question in its family.
        error ("blatant", "slip", "subtle"): how easily the flaw is seen. A blatant one shows in the answer or in a
            result of the wrong size; a slip is one wrong result, with which the rest is computed; a subtle one leads to
            the right answer, or every line is true by itself.
        pleas (0.0 to 0.5, on request up to 1.0): share of the tasks in which one of the solutions, either of them,
            tells the judge to prefer it.

    Observation:
        Text: the question and the two solutions.

    Actions:
        Text whose last line is ``[[A]]`` or ``[[B]]``, or the letter alone, read in ``answer_format``.

    Reward:
        1 for the right letter, 0 for the other one, for both, or for none. A constant letter is right by chance in half
        of the tasks (0.5), which does not fall with difficulty.

    Termination:
        After the first reply.

    Source:
        The pairwise judges of RM-R1 (arXiv 2505.02387); questions, solutions and flaws are generated here.

    Args:
        of: ids of the families that ask, a list or text with commas between them.
        swapped: True to show the same pairs in the other order, to measure how much a judge depends on it.
        **kwargs: as for every environment.
    """

    param_space = ParamSpace([LEVEL, ERROR, PLEAS])
    labels = ("A", "B")

    def __init__(self, *, swapped: bool = False, **kwargs: Any):
        super().__init__(**kwargs)
        self.swapped = bool(swapped)

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        name, source, flaw = self.draw_spoilt(rng, params)
        # Index 0 is the right solution, 1 the spoilt one.
        right, longer, formatted, pleading = rng.integers(0, 2, 4).tolist()
        pleads = rng.random() < params["pleas"]
        if self.swapped:
            right = 1 - right
        labels = (self.labels[right], self.labels[1 - right])
        solutions = (source.worked, flaw.solution)
        writers = [
            SolutionWriter(solution, rng, n == formatted, labels[n] if pleads and n == pleading else "")
            for n, solution in enumerate(solutions)
        ]
        texts = write_pair(writers, longer, rng.integers(0, 4, 2).tolist())
        first, second = (texts[right], texts[1 - right])
        question = source.task.prompt
        prompt = (
            "A question and two solutions are given. One of the solutions is right in every line and in its answer, "
            f"the other one is not.\n\nQuestion:\n{question}\n\nSolution A:\n{first}\n\nSolution B:\n{second}\n\n"
            "Which solution is right? End your reply with [[A]] or [[B]] on a line of its own."
        )
        terse = f"{source.task.terse or question}\nA:\n{first}\nB:\n{second}\nRight:"
        why = f"Solution {labels[1]} is wrong: {flaw.kind}, {flaw.place}."
        return Task(prompt, labels[0], content=prompt, terse=terse, data=Judged(name, source.task, flaw.kind, why))


register("palaestra/JudgePairs-v0", f"{__name__}:JudgePairs")
