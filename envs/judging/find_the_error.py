"""palaestra/FindTheError-v0: the first wrong line of a solution."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import InputError
from ...rewards import Verdict, verify
from ..axes import ChoiceAxis
from ..param_space import ParamSpace
from ..question import Task
from ..registration import register
from .flaws import SLIPS, Flaw, SolvedTask, spoil_answer, spoil_premise, spoil_result
from .judging import LEVEL, MAX_DRAWS, Judged, Judging

TRIES = 8
"""Attempts to spoil one line before another question is drawn."""


class FindTheError(Judging):
    """Find the first wrong line of a solution.

    Description:
        A question of one of the families ``of`` and a solution with numbered lines, the last of which is the answer.
        The wrong line is drawn first, each line as likely as the others and as likely as that there is none. Solutions
        must have equations, so that every other line is known to be right or to follow from the wrong one.

    Parameters:
        level (0.0 to 1.0): difficulty of the question in its family.
        error ("alone", "carried", "consistent"): alone: one line has a wrong result, and the next ones go on with the
            right one; carried: they go on with the wrong one, up to the answer; consistent: in addition the wrong line
            is a true equation, but with an operator or a number that the question does not have. An answer line that is
            wrong is so under every error.

    Observation:
        Text: the question and the numbered lines.

    Actions:
        Text with the number of a line, or 0 if no line is wrong, read in ``answer_format``.

    Reward:
        1 for the number of the first wrong line, 0 otherwise. A constant number is right by chance in 0.28 of the
        easiest tasks, whose solutions have few lines, and in 0.17 of the hardest, so that it does not fall by half.

    Termination:
        After the first reply.

    Source:
        Labels of steps as in PRM800K (Lightman et al., arXiv 2305.20050) and ProcessBench (arXiv 2412.06559); generated
        here.

    Args:
        of: ids of the families that ask, a list or text with commas between them; their solutions must have equations.
        **kwargs: as for every environment.
    """

    param_space = ParamSpace([LEVEL, ChoiceAxis("error", ("alone", "carried", "consistent"))])
    needs_equations = True

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        for _ in range(MAX_DRAWS):
            name, source = self.draw_source(rng, params["level"])
            lines = len(source.worked.steps) + 1
            place = int(rng.integers(lines + 1))
            flaw = _spoil_line(source, rng, params["error"], place - 1) if place else None
            if bool(place) == (flaw is not None):
                break
        else:
            raise InputError(
                f"no error of the kind {params['error']!r} can be planted in the solutions of "
                f"{', '.join(self.families)}; choose other ids for `of`."
            )
        solution = source.worked if flaw is None else flaw.solution
        steps = [*solution.steps, f"Answer: {solution.answer}"]
        shown = "\n".join(f"{n}. {line}" for n, line in enumerate(steps, 1))
        question = source.task.prompt
        prompt = (
            f"A question and a solution with numbered lines are given.\n\nQuestion:\n{question}\n\nSolution:\n{shown}"
            "\n\nWhich line is the first wrong one? Answer with its number alone, or with 0 if every line is right."
        )
        terse = f"{source.task.terse or question}\n{shown}\nWrong line:"
        why = f"Line {place} is wrong: {flaw.kind}." if flaw else "Every line holds."
        data = Judged(name, source.task, flaw.kind if flaw else "", why)
        return Task(prompt, place, content=prompt, terse=terse, data=data)

    def verify(self, task: Task, answer: str) -> Verdict:
        return verify("integer", answer, task.reference)


def _spoil_line(source: SolvedTask, rng: np.random.Generator, error: str, line: int) -> Flaw | None:
    """Spoil the line with this index, or the answer if it is behind the last line; None if that cannot be done."""
    if line == len(source.worked.steps):
        return spoil_answer(source, rng)
    slips = [*SLIPS]
    for _ in range(TRIES):
        if error == "consistent":
            kind = ("wrong operator", "misread number")[int(rng.integers(2))]
            flaw = spoil_premise(source, rng, kind, line)
        else:
            flaw = spoil_result(source, rng, slips[int(rng.integers(len(slips)))], error == "carried", line)
        if flaw is not None:
            return flaw
    return None


register("palaestra/FindTheError-v0", f"{__name__}:FindTheError")
