"""palaestra/InputPrediction-v0: find arguments for which a program returns a given value."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...rewards import Verdict
from ...rewards.answers import bare
from ...rewards.verifiers.registry import CORRECT, rejected
from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register
from .judging.literals import MOST_CHARACTERS, MOST_ITEMS, read_arguments
from .output_prediction import ProgramCall
from .programs.cases import draw_arguments, is_small
from .programs.dice import Dice
from .programs.grammar import DOMAINS, Program, draw_program, format_call
from .programs.steps import INTEGER, LIST, TEXT

# Obvious guesses, and the number of random arguments; none of them may be right.
_FIRST: dict[str, list[Any]] = {
    INTEGER: [0, 1, 2, 3, 5, 10, 42, 100, -1],
    LIST: [[], [0], [1], [1, 2, 3], [3, 1, 2]],
    TEXT: ["", "a", "abc", "hello", "hello world"],
}
_RANDOM = 16
_BOUNDS = {LIST: f", of at most {MOST_ITEMS} numbers", TEXT: f", of at most {MOST_CHARACTERS} characters"}


class InputPrediction(Question):
    """Find arguments for which a Python function returns a given value.

    Description:
        The functions are drawn as in `ProgramSynthesis`; the prompt shows the code without its specification. Any
        arguments of the stated types for which the function returns the value are right. Obvious guesses (0, 1, an
        empty list, the value itself, ...) and sixteen random draws are never right.

    Parameters:
        steps (1 to 5, on request up to 12): number of operations that the function applies one after the other.
        domain ("numbers", "strings", "lists"): the type of the function's argument.

    Observation:
        Text: the function and the value.

    Actions:
        Text with the arguments written out, as in ``f([1, 2], 3)`` (the name and the parentheses may be left out), read
        as ``answer_format`` says.

    Reward:
        1 if the function returns the value for them, 0 otherwise.

    Termination:
        After the first answer.

    Source:
        CodeBoost (Wang et al., arXiv 2508.05242), which learns to predict outputs and inputs of code; the form is that
        of CRUXEval (Gu et al., arXiv 2401.03065).
    """

    strips_marks = False
    param_space = ParamSpace([IntAxis("steps", 1, 5, limits=(1, 12)), ChoiceAxis("domain", tuple(DOMAINS))])

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        dice = Dice(rng)
        found = None
        while found is None:
            found = _draw(dice, params["domain"], params["steps"])
        program, arguments, outcome = found
        first = program.parameters[0]
        described = f"{first.name} is {first.words}{_BOUNDS.get(program.takes, '')}"
        if len(program.parameters) > 1:
            described += f"; {program.parameters[1].name} is a whole number"
        return Task(
            f"```python\n{program.source}\n```\nHere {described}. Find arguments for which it returns "
            f"{outcome.value!r}. Answer with the call on one line, each argument written out, such as "
            f"{_example(program)}",
            outcome.value,
            solution=format_call(program, arguments),
            content=f"{program.source}\n{outcome.value!r}",
            data=found,
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        program, _, outcome = task.data
        kinds = [(p.name, INTEGER if place else program.takes) for place, p in enumerate(program.parameters)]
        # Quotation marks and backticks may belong to the answer, so the unchanged text is tried first.
        for text in (answer, answer.strip("`"), bare(answer)):
            arguments = read_arguments(text, program.name, kinds)
            if arguments is not None:
                break
        else:
            return rejected(f"The answer must be a call with each argument written out, such as {_example(program)}.")
        got = program.run(arguments)
        if not got.error and got.value == outcome.value:
            return CORRECT
        what = f"fails ({got.error})" if got.error else "returns something else"
        return Verdict(0.0, False, feedback=f"The function {what} for these arguments.")

    def solution_steps(self, task: Task) -> list[str]:
        """List correct arguments, the value of each variable for these arguments, and the answer."""
        program, arguments, _ = task.data
        names = ", ".join(f"{p.name} = {value!r}" for p, value in zip(program.parameters, arguments))
        return [f"Try {names}.", *program.trace(arguments), self.oracle(task)]

    def solver_cost(self, episode: Task) -> float:
        """Return the length of the code in characters; all of it has to be traced backwards."""
        return float(len(episode.data.program.source))


def _example(program: Program) -> str:
    """Return an example call with the form of the answer."""
    first = {INTEGER: 100, LIST: [3, 1, 2], TEXT: "hello world"}[program.takes]
    return format_call(program, (first, *(parameter.values[0] for parameter in program.parameters[1:])))


def _draw(dice: Dice, domain: str, steps: int) -> ProgramCall | None:
    """Draw a program and a call of it. Return None if an obvious guess leads to the same value."""
    program = draw_program(dice, domain, steps)
    arguments = draw_arguments(dice, program)
    outcome = program.run(arguments)
    value = outcome.value
    if outcome.error or not is_small(value):
        return None
    rest = arguments[1:]
    guesses = [(first, *rest) for first in (*_FIRST[program.takes], value if not isinstance(value, list) else [*value])]
    guesses += [(guess[0], parameter.values[0]) for parameter in program.parameters[1:] for guess in guesses]
    guesses += [draw_arguments(dice, program) for _ in range(_RANDOM)]
    if any(program.run(guess).value == value for guess in guesses):
        return None
    return ProgramCall(program, arguments, outcome)


register("palaestra/InputPrediction-v0", f"{__name__}:InputPrediction")
