"""palaestra/HintPrefix-v0: any question with the beginning of a solution."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ..axes import FloatAxis
from ..question import Task
from ..registration import register
from .transform import Transform

# Marks after which the result of a line may begin.
_RESULT = re.compile(r"=|:|->| is | or ")


class HintPrefix(Transform):
    """Continue from the beginning of a solution.

    Description:
        A question of the inner family ``of`` and the first steps of its ``solution_steps``. A step that gives the
        answer away, and all steps after it, are hidden: a step whose result the inner verifier accepts, or that
        contains the answer while the question does not. Answers are judged by the inner family.

    Parameters:
        hint (0.0 to 1.0, less is harder): the share of the steps before the answer that is shown, cut before the first
            step that gives the answer away.
        The axes of the inner family; by default those of palaestra/WordProblem-v0: steps (2 to 8), distractors (0 to
        3), size (20 to 100); steps on request from 1 to 30, distractors from 0 to 7, size from 10 to 1000.

    Observation:
        The inner question, ``A solution begins so:``, the steps, one a line, and an instruction; only the question if
        no step is shown.

    Actions:
        As for the inner family.

    Reward:
        As for the inner family; with the default family, guessing earns 0.035 by chance on the easiest tasks.

    Termination:
        After the first answer.

    Source:
        Hints of adaptive length as in SEELE (arXiv 2509.06923) and privileged prefixes as in POPE (arXiv 2601.18779).
    """

    own_axes = (FloatAxis("hint", 0.0, 1.0, harder="down"),)

    def __init__(self, *, of: str = "palaestra/WordProblem-v0", answer_format: str | None = None, **kwargs: Any):
        super().__init__(of=of, answer_format=answer_format, **kwargs)
        self.require_steps()
        if answer_format is None:
            self.adopt_answer_format()

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        task = self.inner.generate(rng, self.inner_params(params))
        steps = self.inner.solution_steps(task)[:-1]
        shown = steps[: round(params["hint"] * len(steps))]
        for place, step in enumerate(shown):
            if self._gives_away(task, step):
                shown = shown[:place]
                break
        prompt = self.inner.prompt_of(task)
        if shown:
            prompt += "\nA solution begins so:\n" + "\n".join(shown) + "\nGo on from there to the answer."
        return Task(prompt, {"shown": len(shown)}, data=task)

    def solver_cost(self, episode: Task) -> float:
        """Return the cost of the hidden steps: their share of the inner solver's cost if known, else their length in
        characters."""
        steps, shown = self.inner.solution_steps(episode.data), episode.reference["shown"]
        whole = self.inner.solver_cost(episode.data)
        if whole is not None:
            return whole * (1.0 - shown / len(steps))
        return float(sum(len(step) + 1 for step in steps[shown:]))

    def _gives_away(self, task: Task, step: str) -> bool:
        answer = self.inner.oracle(task)
        if _occurs_in(answer, step) and not _occurs_in(answer, task.prompt):
            return True
        results = {step, *_RESULT.split(step)}
        return any(self.inner.verify(task, result.strip(" .,")).success for result in results if result.strip(" .,"))


def _occurs_in(answer: str, text: str) -> bool:
    """Return True if ``answer`` occurs in ``text``, not as a part of a longer word or number."""
    return re.search(rf"(?<![\w.]){re.escape(answer)}(?!\w|\.[0-9])", text) is not None


register("palaestra/HintPrefix-v0", f"{__name__}:HintPrefix")
