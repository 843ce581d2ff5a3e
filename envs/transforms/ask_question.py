"""palaestra/AskQuestion-v0: write the question about a text that has a given answer."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...checks import check_number
from ...rewards import Verdict
from ...rewards.terms.similarity import ngram_overlap
from ...rewards.verifiers.registry import CORRECT, rejected
from ..question import Question, Task
from ..registration import register
from .transform import Transform


class AskQuestion(Transform):
    """Write the question about a text that has a given answer.

    Description:
        The inner family ``of`` must ask about a text: its prompt ends with a line that is the question. The text and
        the answer are given.

    Parameters:
        The axes of the inner family; by default those of palaestra/WikiReading-v0: kind (bridge, comparison,
        intersection, count, arithmetic), hops (1 to 4, on request up to 6), size (0 to 4, on request up to 7),
        distractors (0 to 3, on request up to 10), ambiguity (0 to 2).

    Observation:
        The text, the answer, and the request for a question.

    Actions:
        Text with one question, on one line, read in ``answer_format``.

    Reward:
        1 if the question shares at least ``alike`` of its runs of one to four words with the one that was asked, 0
        otherwise. ``--reward text-similarity`` rewards the share, and likeness of meaning, as they are.

    Termination:
        After the first answer.

    Source:
        Answer-aware question generation, as in semantic self-critical training (arXiv 2108.12026).

    Args:
        alike: share of runs of words from which a question counts as the one that was asked, see
            `palaestra.rewards.terms.similarity.ngram_overlap`.
        **kwargs: ``of``, ``of_kwargs`` and arguments of `TaskEnv`.
    """

    works_in_steps = False
    added = 256

    def __init__(self, *, of: str = "palaestra/WikiReading-v0", alike: float = 0.9, **kwargs: Any):
        self.alike = check_number("alike", alike, 0.0, 1.0)
        super().__init__(of=of, **kwargs)
        self.inner.split = self.split  # its texts may belong to a split as a whole
        rng = np.random.default_rng(0)
        task = self.inner.generate(rng, self.inner.param_space.sample(rng))
        if "\n" not in task.prompt.strip():
            raise self.unsuitable("its prompt has no line before the question")

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        task = self.inner.generate(rng, self.inner_params(params))
        text, _, question = task.prompt.strip().rpartition("\n")
        # What follows the question mark says in which form the answer is wanted.
        question = question.partition("?")[0].strip() + "?"
        prompt = (
            f"{text.strip()}\n\nWrite a question about this text that has the answer: {self.inner.oracle(task)}\n"
            "Answer with the question alone."
        )
        return Task(prompt, question, data=task)

    def verify(self, task: Task, answer: str) -> Verdict:
        if not answer.strip():
            return rejected("The answer has no words.")
        if ngram_overlap(answer, task.reference) >= self.alike:
            return CORRECT
        return Verdict(0.0, False, feedback="Another question was asked.")

    def oracle(self, task: Task) -> str:
        return task.reference

    criteria = Question.criteria

    def solution_steps(self, task: Task) -> list[str]:
        return [task.reference]


register("palaestra/AskQuestion-v0", f"{__name__}:AskQuestion")
