"""palaestra/OpenProblem-v0: improve a program that makes a construction, scored against the best known value."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...rewards import Verdict
from ...rewards.answers import fenced, program_in
from ...rewards.verifiers.registry import rejected
from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from ..question import Task
from ..registration import register
from ..sandbox import Call, run
from .judging.constructions import CONSTRUCTIONS, InvalidConstruction
from .judging.program_question import ProgramQuestion

LEVELS = 4
# Relative distance from the best known value that counts as reaching it: published values are rounded.
_REACHED = 1e-9
_DIFF = re.compile(r"<{5,9} SEARCH\n(.*?)\n?={5,9}\n(.*?)\n?>{5,9} REPLACE", re.DOTALL)
_WORDS = {
    "no-diff": "The answer has neither a SEARCH/REPLACE block that fits nor a program with construct().",
    "no-change": "The program is one that is known already.",
}


@dataclass(frozen=True, slots=True)
class ParentProgram:
    """Data of a task: the construction's name in `CONSTRUCTIONS`, its size, the program to improve, and the `identity`
    of further programs that count as no change."""

    problem: str
    size: int
    program: str
    known: frozenset[str] = frozenset()


class OpenProblem(ProgramQuestion):
    """Improve a program that makes a combinatorial construction; the best known value is published.

    Description:
        A program makes a valid but poor construction: a Golomb ruler, a matrix of large determinant, an arrangement of
        kissing spheres, a cap set or a packing of circles. It is to be edited so that it makes a better one. It runs in
        the sandbox, and its construction is verified exactly. Failures have names, in ``episode.extra("objective")``:
        "no-diff" (no edit), "no-change" (the same program again, which is not run), "error" (it did not run or took too
        long) and "invalid" (it broke a rule). The rollout strategy "evolve" replaces the program by its descendants
        from a database.

    Parameters:
        problem ("golomb_ruler", "determinant", "kissing", "cap_set", "circle_packing"): the construction.
        level (0 to 3): the size of the construction, from the sizes with a best known value.

    Observation:
        Text: what the program must return, the best known value, and the program.

    Actions:
        Text with blocks of <<<<<<< SEARCH, =======, >>>>>>> REPLACE that edit the program, or with a whole program in a
        block of Python. The whole reply is read, unless ``answer_format`` says otherwise.

    Reward:
        1 if the best known value is reached, 0 otherwise; with ``graded=True`` the value divided by the best known one
        (or the other way round where smaller is better), at most 1, which is also ``info["progress"]``. The reward
        "bounded-power" on this measure is ThetaEvolve's, from -0.4 for "no-diff" to -0.1 for "invalid".

    Termination:
        After the first answer.

    Source:
        ThetaEvolve (arXiv 2511.23473), after AlphaEvolve (arXiv 2506.13131). The sources of the best known values are
        in `judging.constructions`.
    """

    supplies = frozenset({"objective", "evolved_program"})
    param_space = ParamSpace(
        [ChoiceAxis("problem", tuple(CONSTRUCTIONS), harder=None), IntAxis("level", 0, LEVELS - 1)]
    )

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        construction = CONSTRUCTIONS[params["problem"]]
        sizes = construction.sizes
        size = sizes[params["level"] * len(sizes) // LEVELS]
        start = construction.start.format(n=size, a=int(rng.integers(1, 10_000)))
        return make_task(ParentProgram(params["problem"], size, f"def construct():\n    {start}"))

    def verify(self, task: Task, answer: str) -> Verdict:
        parent: ParentProgram = task.data
        program = apply_edits(parent.program, answer)
        if program is None:
            return replace(rejected(_WORDS["no-diff"]), extras=self._extras("no-diff", "syntax", ""))
        known = identity(program)
        if known == identity(parent.program) or known in parent.known:
            return _failure(_WORDS["no-change"], self._extras("no-change", "wrong", program))
        result = run(
            program, calls=[Call("construct", (), self.limits.seconds)], limits=self.limits, backend=self.backend
        )
        if not result.valid:
            return Verdict(0.0, False, valid=False, feedback="The sandbox failed; this says nothing about the program.")
        error = result.values[0].error if result.values else "The program ended before construct() was called."
        if error:
            kind = "syntax" if "SyntaxError" in result.stderr else "error"
            return _failure(error[:200], self._extras("error", kind, program))
        construction = CONSTRUCTIONS[parent.problem]
        try:
            value = construction.measure(result.values[0].value, parent.size)
        except InvalidConstruction as broken:
            extras = self._extras("invalid", "wrong", program)
            return _failure(f"The construction is invalid: {broken}.", extras)
        progress = construction.progress(value, parent.size)
        success = progress >= 1 - _REACHED
        extras = self._extras(progress, "" if success else "wrong", program)
        feedback = f"The value is {float(value):.10g}; the best known one is {construction.best[parent.size]:.10g}."
        score = 1.0 if success else progress
        terms = {"value": score if self.graded else float(success)}
        return Verdict(score, success, terms=terms, feedback=feedback, extras=extras)

    def _extras(self, objective: float | str, test: str, program: str) -> dict[str, Any]:
        return {"objective": objective, "evolved_program": program, "tests": [test]}

    def lineage(self) -> str:
        """Return the name of the task's problem and size, which programs of one database share."""
        return f"{self.here().data.problem} {self.here().data.size}"

    def descend(self, program: str, known: frozenset[str] = frozenset()) -> str:
        """Replace the current task's program, and return the first observation with it.

        Args:
            program: the program to improve.
            known: `identity` of programs that count as no change.
        """
        self._task = make_task(replace(self.here().data, program=program, known=known))
        return self.prompt_of(self._task) + self._request

    def criteria(self, task: Task) -> list[str]:
        construction = CONSTRUCTIONS[task.data.problem]
        return [
            f"construct() returns {construction.asks.format(n=task.data.size)}.",
            f"It improves {construction.value}.",
        ]

    def solution_steps(self, task: Task) -> list[str]:
        """Give the best known value with its source, and the record program."""
        construction = CONSTRUCTIONS[task.data.problem]
        return [f"Best known: {construction.best[task.data.size]:.10g}, {construction.source}.", self.oracle(task)]

    def random_action(self, episode: Task, rng: np.random.Generator) -> str:
        """Return the start program of another task with the same parameters."""
        return fenced(self.generate(rng, dict(self._params)).data.program)

    def solver_cost(self, episode: Task) -> float:
        """Return the number of numbers in a construction of the best known value, about."""
        parent: ParentProgram = episode.data
        construction = CONSTRUCTIONS[parent.problem]
        vectors = construction.best[parent.size] if parent.problem in ("cap_set", "kissing") else parent.size
        return float(parent.size * vectors)


def make_task(parent: ParentProgram) -> Task:
    """Make the task of improving a program."""
    construction = CONSTRUCTIONS[parent.problem]
    lines = construction.record(parent.size).replace("\n", "\n    ")
    return Task(
        f"The function construct() must return {construction.asks.format(n=parent.size)}. What counts is "
        f"{construction.value}; the best known value is {construction.best[parent.size]:.10g}. This program is poor:\n"
        f"```python\n{parent.program}\n```\nImprove it. Answer with edits, each the lines to find and the lines to put "
        "in their place,\n<<<<<<< SEARCH\n    return []\n=======\n    return [0]\n>>>>>>> REPLACE\nor with a whole "
        "program in a block of Python.",
        construction.best[parent.size],
        solution=fenced(f"def construct():\n    {lines}"),
        content=f"{parent.problem} {parent.size}\n{parent.program}",
        data=parent,
    )


def apply_edits(parent: str, answer: str) -> str | None:
    """Return the program that an answer makes of its parent; None if it holds neither edits that fit nor a program."""
    answer = answer.replace("\r\n", "\n")
    edits = _DIFF.findall(answer)
    if not edits:
        program = program_in(answer, "construct")
        return program if re.search(r"\bconstruct\b", program) and "def " in program else None
    program = parent
    for old, new in edits:
        if not old.strip() or old not in program:
            return None
        program = program.replace(old, new, 1)
    return program


def identity(program: str) -> str:
    """Return a text that is equal for programs that differ in layout and comments only."""
    try:
        return ast.dump(ast.parse(program))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return program.strip()


def _failure(feedback: str, extras: dict[str, Any]) -> Verdict:
    return Verdict(0.0, False, terms={"value": 0.0}, feedback=feedback, extras=extras)


register("palaestra/OpenProblem-v0", f"{__name__}:OpenProblem")
