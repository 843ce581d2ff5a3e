"""palaestra/OutputPrediction-v0: predict the value that a program returns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...rewards import Verdict
from ...rewards.answers import bare
from ...rewards.verifiers.registry import CORRECT, rejected
from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register
from .judging.literals import read_value
from .programs.block_runs import CallOutcome
from .programs.cases import draw_arguments, is_small
from .programs.dice import Dice
from .programs.grammar import DOMAINS, Program, draw_program, format_call
from .programs.steps import INTEGER, LIST, TEXT, WORDS

# Each type with its name in prompts, and an example that is never the answer.
FORMS = {
    INTEGER: ("a whole number", "1234567"),
    LIST: ("a list of whole numbers", "[12, -34, 56, 0, 0, 7]"),
    TEXT: ("a text in quotation marks", "'Any text!'"),
    WORDS: ("a list of texts", "['two', 'words!']"),
}
_TRIES = 5


class ProgramCall(NamedTuple):
    """A program, arguments, and the outcome of the call."""

    program: Program
    arguments: tuple[Any, ...]
    outcome: CallOutcome


class OutputPrediction(Question):
    """Predict the return value of a Python function.

    Description:
        The functions are drawn as in `ProgramSynthesis`; the prompt shows the code without its specification. The value
        is hard to guess: no argument of the call, no whole number from -20 to 20, no power of two or its negative, and
        no list or text of fewer than three items or characters.

    Parameters:
        steps (1 to 6, on request up to 20): number of operations that the function applies one after the other.
        domain ("numbers", "strings", "lists"): the type of the function's argument.

    Observation:
        Text: the function and a call of it.

    Actions:
        Text with the value as Python writes it, ``[1, 2]`` or ``'ab'`` (other quotation marks or none, and lists
        without brackets, are accepted), read as ``answer_format`` says.

    Reward:
        1 for the value, 0 otherwise.

    Termination:
        After the first answer.

    Source:
        CodeBoost (Wang et al., arXiv 2508.05242), which learns to predict outputs and inputs of code; the form is that
        of CRUXEval (Gu et al., arXiv 2401.03065).
    """

    strips_marks = False
    param_space = ParamSpace([IntAxis("steps", 1, 6, limits=(1, 20)), ChoiceAxis("domain", tuple(DOMAINS))])

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        dice = Dice(rng)
        found = None
        while found is None:
            found = _draw(dice, params["domain"], params["steps"])
        program, arguments, outcome = found
        words, example = FORMS[program.gives]
        call = format_call(program, arguments)
        return Task(
            f"```python\n{program.source}\n```\nWhat does {call} return? Answer with {words}, as Python writes it, "
            f"such as {example}",
            outcome.value,
            solution=repr(outcome.value),
            content=f"{program.source}\n{call}",
            data=found,
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        program, arguments, outcome = task.data
        words, example = FORMS[program.gives]
        # Quotation marks may belong to the answer, so it is right if it is right with or without them.
        behind_call = answer.removeprefix(format_call(program, arguments)).lstrip(" =>:")
        starts_with_call = answer.startswith(format_call(program, arguments))
        readings = (answer, answer.strip("`"), bare(answer), behind_call if starts_with_call else answer)
        values = [value for value in (read_value(text, program.gives) for text in readings) if value is not None]
        if not values:
            return rejected(f"The answer must be {words}, such as {example}.")
        if outcome.value in values:
            return CORRECT
        return Verdict(0.0, False, feedback=f"The function does not return {values[0]!r}.")

    def criteria(self, task: Task) -> list[str]:
        """List the variables to find, in order, and the branches and loops to follow."""
        names = [f"It finds the value of {name}." for name in task.data.program.results if name]
        return [*names, "It follows each branch and each turn of a loop for the arguments given."]

    def solution_steps(self, task: Task) -> list[str]:
        """List the value of each variable, and the answer."""
        program, arguments, _ = task.data
        return [*program.trace(arguments), self.oracle(task)]

    def solver_cost(self, episode: Task) -> float:
        """Return the length of the code and of the values of its variables written out, in characters."""
        return float(len(episode.data.program.source) + sum(map(len, self.solution_steps(episode))))


def _draw(dice: Dice, domain: str, steps: int) -> ProgramCall | None:
    """Draw a program and a call of it. Return None if several draws of arguments give only values that are easy to
    guess."""
    program = draw_program(dice, domain, steps)
    for _ in range(_TRIES):
        arguments = draw_arguments(dice, program)
        outcome = program.run(arguments)
        is_good = not outcome.error and _is_hard_to_guess(outcome.value, arguments)
        if is_good and not program.ends_early(arguments):
            return ProgramCall(program, arguments, outcome)
    return None


def _is_hard_to_guess(value: Any, arguments: tuple[Any, ...]) -> bool:
    """Return True if a value fits in a prompt and is no argument, small number, power of two or short list."""
    if not is_small(value) or value in arguments:
        return False
    if isinstance(value, int):
        return abs(value) > 20 and abs(value) & (abs(value) - 1) != 0
    return len(value) > 2


register("palaestra/OutputPrediction-v0", f"{__name__}:OutputPrediction")
