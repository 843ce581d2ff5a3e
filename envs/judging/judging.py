"""`Judging`: base of the families in which solutions to other families' questions are judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...errors import InputError
from ...rewards import Verdict
from ...rewards.verifiers.registry import CORRECT, WRONG, rejected
from ..axes import ChoiceAxis, FloatAxis
from ..question import Question, Task
from ..transforms.transform import make_question
from ..unicode import Unicode
from .flaws import Flaw, SolvedTask, draw_flaw

FAMILIES = (
    "palaestra/Arithmetic-v0",
    "palaestra/WordProblem-v0",
    "palaestra/Sequences-v0",
    "palaestra/LinearEquation-v0",
)
"""Families that are judged by default: every line of their solutions is an equation that can be checked."""

MAX_DRAWS = 100
"""Tasks that are drawn before a family counts as unsuitable."""

MAX_END = 200
"""Characters at the end of a reply in which a second verdict is looked for."""

LEVEL = FloatAxis("level", 0.0, 1.0)
ERROR = ChoiceAxis("error", ("blatant", "slip", "subtle"))
PLEAS = FloatAxis("pleas", 0.0, 0.5, limits=(0.0, 1.0))


@dataclass(frozen=True, slots=True)
class Judged:
    """Task that is judged.

    Args:
        of: id of the family that asked the question.
        task: its task.
        flaw: kind of the flaw in what is shown; "" for a right solution.
        why: the reason for the verdict, one line.
    """

    of: str
    task: Task
    flaw: str
    why: str


class Judging(Question):
    """Base of tasks that show solutions to questions of other families.

    A task is in the split of the question that it shows. A subclass implements `generate`, sets ``labels`` if the reply
    is a verdict in double brackets, and ``needs_equations`` if it says which lines are wrong.

    Args:
        of: ids of the families that ask the questions, each drawn equally often; a list, or text with commas between
            the ids.
        **kwargs: as for every environment.

    Raises:
        InputError: an id in ``of`` is not that of a question, or has no worked solutions.
    """

    labels: ClassVar[tuple[str, ...]] = ()
    needs_equations: ClassVar[bool] = False
    max_observation: ClassVar[int] = 131_072

    def __init__(self, *, of: str | Sequence[str] = FAMILIES, **kwargs: Any):
        ids = [name.strip() for name in of.split(",")] if isinstance(of, str) else list(of)
        if not ids or not all(ids) or len(set(ids)) < len(ids):
            raise InputError(f"`of` must name one or more questions, none of them twice, not {of!r}.")
        self.families: Mapping[str, Question] = {name: make_question(name, {}) for name in ids}
        super().__init__(**kwargs)
        self.observation_space = Unicode(self.max_observation)
        for name, family in self.families.items():
            params = family.param_space.at(0.5)
            source = SolvedTask(family, family.generate(np.random.default_rng(0), params), params)
            steps, lacking = len(source.worked.steps), ""
            if not steps:
                lacking = "have no steps"
            elif self.needs_equations and len(source.checked_lines) < steps:
                lacking = "have lines that are no equations of numbers"
            if lacking:
                raise InputError(f"{type(self).__name__} cannot use {name}, whose solutions {lacking}; leave it out.")

    def draw_source(self, rng: np.random.Generator, level: float) -> tuple[str, SolvedTask]:
        """Draw a question of one of the families, with the difficulty ``level``; return the family's id and the
        question."""
        name = [*self.families][int(rng.integers(len(self.families)))]
        family = self.families[name]
        params = family.param_space.at(level)
        return name, SolvedTask(family, family.generate(rng, params), params)

    def draw_spoilt(self, rng: np.random.Generator, params: Mapping[str, Any]) -> tuple[str, SolvedTask, Flaw]:
        """Draw a question and a spoilt solution; see `draw_source` and `flaws.draw_flaw`."""
        for _ in range(MAX_DRAWS):
            name, source = self.draw_source(rng, params["level"])
            flaw = draw_flaw(source, rng, params["error"])
            if flaw is not None:
                return name, source, flaw
        raise InputError(f"no solution of {', '.join(self.families)} can be spoilt; choose other ids for `of`.")

    def judge(self, task: Task, action: Any) -> tuple[Verdict, str | None]:
        """Judge a reply; one that ends in two lines with different verdicts is refused, as in RM-R1 (arXiv
        2505.02387)."""
        lines = action[-MAX_END:].split("\n") if isinstance(action, str) else []
        last = [line.strip() for line in lines if line.strip()][-2:]
        given = {label for label in self.labels if f"[[{label}]]" in last}
        if len(given) > 1:
            error = "The reply ends in two verdicts; give one."
            return Verdict(0.0, False, feedback=error), error
        return super().judge(task, action)

    def verify(self, task: Task, answer: str) -> Verdict:
        """Judge a verdict such as ``[[A]]``, or its bare label."""
        text = answer.strip(" .")
        label = (text[2:-2] if text.startswith("[[") and text.endswith("]]") else text).casefold()
        if label not in (each.casefold() for each in self.labels):
            return rejected(f"The reply must end in a verdict on a line of its own, such as [[{self.labels[0]}]].")
        return CORRECT if label == task.reference.casefold() else WRONG

    def oracle(self, task: Task) -> str:
        return f"[[{task.reference}]]" if self.labels else str(task.reference)

    def solution_steps(self, task: Task) -> list[str]:
        """State the reason for the verdict, and the verdict."""
        return [task.data.why, self.oracle(task)]

    def split_key(self, episode: Task) -> str:
        """Return the key of the question that is shown, so that no test question is judged in training."""
        return SolvedTask(self.families[episode.data.of], episode.data.task, {}).key

    def solver_cost(self, episode: Task) -> float:
        """Return the number of characters of the question and of its right solution, which a judge has to find."""
        family, task = self.families[episode.data.of], episode.data.task
        return float(len(task.prompt) + sum(map(len, family.solution_steps(task))))
