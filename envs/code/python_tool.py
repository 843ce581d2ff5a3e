"""palaestra/PythonTool-v0: a question of another family, with Python as a tool."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..registration import register
from ..tools.tool_question import Session, ToolQuestion, count_times
from .judging.python_interpreter import PythonInterpreter

# A question that is an expression, computed by the oracle's program: "(17 * 5^3 - inv(4)) mod 97 = ?", "3 * (4 + 5) =
# ?".
_EXPRESSION = re.compile(r"(?:What is )?((?:[0-9()+\-* ^]|inv)+?)(?: mod ([0-9]+))?(?: = )?\?")
_INVERSE = re.compile(r"inv\(([0-9]+)\)")


class PythonTool(ToolQuestion):
    """Answer a question of mathematics with the help of Python programs run for the agent.

    Description:
        The question is a task of the family ``of``. An action with a block of Python is a call: the program runs in the
        sandbox (nothing is kept from earlier calls), and its output or error is the next observation. An action without
        a block is the answer and ends the episode. Only the agent's own text is read as an answer, never the output of
        a program or a block of output in an action; an action with a program contains no answer.

    Parameters:
        level (0.0 to 1.0): the difficulty of the question in the family ``of``.
        calls (8 to 1, harder downwards, on request up to 20): the maximum number of programs.

    Observation:
        The question, the form of its answer, and how to call Python; after a call a block of output of at most 1000
        characters, and the number of calls left.

    Actions:
        Text with a block between ```python and ```, or in a tag <code>, <python>, <tool> or <tool_call>; several blocks
        are one program. Any other text is the answer, read as ``answer_format`` says.

    Reward:
        The family's reward for the answer; 0 for a call, even if the program raises an exception: an exception is no
        ``action_error``, but is reported in ``feedback`` and in ``episode.extra("tool_errors")``. A failure of the
        sandbox makes the turn invalid and does not count as a call.

    Termination:
        After the answer. Truncated after ``calls`` + 2 turns.

    Source:
        ToRL, arXiv 2503.23383, and ReTool, arXiv 2504.11536; the questions are those of other families here.

    Args:
        of: the id of the family that asks the question; its class must be a `Question`.
        of_kwargs: arguments for that family; ``level`` sets the difficulty on the axes that they leave open.
        answer_format: how the answer is read; None for the family's default.
        seconds: the time limit of a run of a program.
        backend: the sandbox, by its name in `sandbox.BACKENDS`.
        preload: modules that are in memory before a program starts, such as ("numpy",); see `sandbox.Job`.
        packages: a folder of further packages that programs may import; see `sandbox.Job`.
        **kwargs: as for every environment.

    Raises:
        InputError: ``of`` is not the id of a question, or an argument does not fit.
        MachineryError: this machine cannot provide the sandbox.
    """

    def __init__(
        self,
        *,
        of: str = "palaestra/ModularArithmetic-v0",
        of_kwargs: Mapping[str, Any] | None = None,
        answer_format: str | None = None,
        seconds: float = 2.0,
        backend: str = "local",
        preload: Sequence[str] = (),
        packages: str = "",
        **kwargs: Any,
    ):
        tools = [PythonInterpreter(seconds, backend, preload, packages)]
        super().__init__(of=of, of_kwargs=of_kwargs, tools=tools, answer_format=answer_format, **kwargs)

    def explain(self, calls: int) -> str:
        return (
            f"Before you answer you may run Python {count_times(calls)}: {self.tools[0].usage} "
            "A reply without a program is your answer."
        )

    def oracle(self, state: Session) -> str:
        if state.output is None:
            return f"```python\n{write_script(state.task.prompt, self.inner.oracle(state.task))}\n```"
        return self.write_answer(state)


def write_script(question: str, answer: str) -> str:
    """Write a program that prints the answer. If the question is an expression, the program computes it."""
    found = _EXPRESSION.match(question)
    if found is None:
        return f"print({answer!r})"
    expression, modulus = found[1].replace("^", "**"), found[2]
    if modulus is None:
        return f"print({expression})"
    expression = _INVERSE.sub(r"pow(\1, -1, n)", expression)
    return f"n = {modulus}\nprint({expression} % n)"


register("palaestra/PythonTool-v0", f"{__name__}:PythonTool")
