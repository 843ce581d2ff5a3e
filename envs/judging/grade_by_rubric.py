"""palaestra/GradeByRubric-v0: the points of a solution by a rubric."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import InputError
from ...rewards import Verdict, verify
from ..axes import FloatAxis, IntAxis
from ..param_space import ParamSpace
from ..question import Task
from ..registration import register
from .flaws import SLIPS, SolvedTask, spoil_answer, spoil_result
from .judging import LEVEL, MAX_DRAWS, Judged, Judging

PRAISE = (
    "This is a very elegant solution.",
    "Few would have found so clear a way.",
    "I am proud of this solution.",
)


CHECKED = "Checked."


class GradeByRubric(Judging):
    """Add up the points of a solution by a rubric.

    Description:
        A question of one of the families ``of``, a rubric, and a solution. Lines of working are spoilt or left out, the
        answer is right or not, the solution may praise itself, repeat a line, or leave out a closing line: each by a
        draw of its own. The rubric gives a point for each right line of working, as many for the right answer as the
        question needs lines, one for the closing line, and takes points for praise and for repetition.

    Parameters:
        level (0.0 to 1.0): difficulty of the question in its family.
        criteria (2 to 5): number of criteria in the rubric.
        faults (0.3 to 0.5, on request from 0.0 to 1.0): probability that a line, or another criterion, is not as it
            should be.

    Observation:
        Text: the question, the rubric, and the solution.

    Actions:
        Text with the sum of the points, a whole number that may be negative, read in ``answer_format``.

    Reward:
        1 for the right sum, 0 otherwise. Sums are few: a constant number is right by chance in 0.31 of the easiest
        tasks and in 0.15 of the hardest.

    Termination:
        After the first reply.

    Source:
        Rubrics as rewards: RuscaRL's signed points (arXiv 2508.16949) and Rubric Anchors' criteria against self-praise
        (arXiv 2508.12790); generated here.

    Args:
        of: ids of the families that ask, a list or text with commas between them; their solutions must have equations.
        **kwargs: as for every environment.
    """

    param_space = ParamSpace([LEVEL, IntAxis("criteria", 2, 5), FloatAxis("faults", 0.3, 0.5, limits=(0.0, 1.0))])
    needs_equations = True

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        for _ in range(MAX_DRAWS):
            name, source = self.draw_source(rng, params["level"])
            steps = source.worked.steps
            if len(source.checked_lines) < len(steps) or len(set(steps)) < len(steps):
                continue
            at_fault = (rng.random(len(steps) + 4) < params["faults"]).tolist()
            working = [_spoil(source, rng, n) if at_fault[n] else step for n, step in enumerate(steps)]
            wrong = spoil_answer(source, rng) if at_fault[-4] else None
            if bool(at_fault[-4]) == (wrong is not None):
                break
        else:
            raise InputError(f"the solutions of {', '.join(self.families)} have no answers that could be spoilt.")
        kept = [line for line in working if line is not None]
        worth = len(steps)
        right = sum(line == step for line, step in zip(working, steps))
        praise, repeated, closed = at_fault[-3], at_fault[-2] and bool(kept), not at_fault[-1]
        rows = (
            ("1 point for each line of working that is right, if it stands there for the first time", right),
            (f"{worth} point{'s' * (worth > 1)} for the right answer", 0 if wrong else worth),
            ("-1 point if the solution praises itself", -praise),
            ("-1 point if a line stands there twice", -repeated),
            (f"1 point if the last line is: {CHECKED}", int(closed)),
        )[: params["criteria"]]
        lines = list(kept)
        if repeated:
            again = int(rng.integers(len(kept)))
            lines.insert(int(rng.integers(again + 1, len(kept) + 1)), kept[again])
        if praise:
            lines.insert(int(rng.integers(len(lines) + 1)), PRAISE[int(rng.integers(len(PRAISE)))])
        answer = source.worked.answer if wrong is None else wrong.solution.answer
        shown = "\n".join([*lines, f"Answer: {answer}", *([CHECKED] if closed else [])])
        rubric = "\n".join(text for text, _ in rows)
        question = source.task.prompt
        prompt = (
            f"A question, a rubric and a solution are given.\n\nQuestion:\n{question}\n\nRubric:\n{rubric}\n\n"
            f"Solution:\n{shown}\n\nHow many points does the rubric give this solution in all? Answer with the number "
            "alone."
        )
        terse = f"{source.task.terse or question}\n{rubric}\n{shown}\nPoints:"
        awarded = [int(points) for _, points in rows]
        why = f"The criteria give {', '.join(map(str, awarded))}."
        flaw = "" if all(line == step for line, step in zip(working, steps)) and not wrong else "several"
        data = Judged(name, source.task, flaw, why)
        return Task(prompt, sum(awarded), content=prompt, terse=terse, data=data)

    def verify(self, task: Task, answer: str) -> Verdict:
        return verify("integer", answer, task.reference)


def _spoil(source: SolvedTask, rng: np.random.Generator, line: int) -> str | None:
    """Return a wrong form of a line of working, or None to leave it out."""
    slips = [*SLIPS]
    flaw = None
    if rng.random() < 0.5:
        flaw = spoil_result(source, rng, slips[int(rng.integers(len(slips)))], False, line)
    return None if flaw is None else flaw.solution.steps[line]


register("palaestra/GradeByRubric-v0", f"{__name__}:GradeByRubric")
