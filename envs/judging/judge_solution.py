"""palaestra/JudgeSolution-v0: is a solution right."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..param_space import ParamSpace
from ..question import Task
from ..registration import register
from .judging import ERROR, LEVEL, PLEAS, Judged, Judging
from .presentation import SolutionWriter


class JudgeSolution(Judging):
    """Say whether a solution to a question is right.

    Description:
        One of the families ``of`` asks a question; its right solution is shown in half of the tasks, and a spoilt one
        in the others (the flaws of palaestra/JudgePairs-v0). Layout, remarks without content and pleas to the judge are
        drawn independently of what is right.

    Parameters:
        level (0.0 to 1.0): difficulty of the question in its family.
        error ("blatant", "slip", "subtle"): how easily a flaw is seen, as in palaestra/JudgePairs-v0.
        pleas (0.0 to 0.5, on request up to 1.0): share of the tasks in which the solution tells the judge its verdict,
            "right" as often as "wrong".

    Observation:
        Text: the question and the solution.

    Actions:
        Text whose last line is ``[[right]]`` or ``[[wrong]]``, or the word alone, read in ``answer_format``.

    Reward:
        1 for the right verdict, 0 otherwise. A constant verdict is right by chance in half of the tasks (0.5), which
        does not fall with difficulty.

    Termination:
        After the first reply.

    Source:
        The balanced bench of pointwise judges in Libra (arXiv 2507.21645); generated here.

    Args:
        of: ids of the families that ask, a list or text with commas between them.
        **kwargs: as for every environment.
    """

    param_space = ParamSpace([LEVEL, ERROR, PLEAS])
    labels = ("right", "wrong")

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        # A spoilt solution is drawn for right ones, too, so that questions whose solution cannot be spoilt occur in
        # neither half.
        name, source, flaw = self.draw_spoilt(rng, params)
        wrong, formatted, pleading = rng.integers(0, 2, 3).tolist()
        plea = self.labels[pleading] if rng.random() < params["pleas"] else ""
        solution = flaw.solution if wrong else source.worked
        shown = SolutionWriter(solution, rng, bool(formatted), plea).write(int(rng.integers(0, 5)))
        question, label = source.task.prompt, self.labels[wrong]
        prompt = (
            f"A question and a solution are given.\n\nQuestion:\n{question}\n\nSolution:\n{shown}\n\nIs the solution "
            "right in every line and in its answer? End your reply with [[right]] or [[wrong]] on a line of its own."
        )
        terse = f"{source.task.terse or question}\n{shown}\nThis is:"
        why = f"The solution has a flaw: {flaw.kind}, {flaw.place}." if wrong else "Every line of the solution holds."
        data = Judged(name, source.task, flaw.kind if wrong else "", why)
        return Task(prompt, label, content=prompt, terse=terse, data=data)


register("palaestra/JudgeSolution-v0", f"{__name__}:JudgeSolution")
