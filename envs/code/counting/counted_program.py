"""A program whose steps are counted, and `count_call`, the function that the sandbox calls."""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from typing import Any

from .guards import make_guards
from .meter import UNCOUNTED, WORK, Meter, OutOfWork, Uncounted
from .rewriting import ProgramRewriter
from .values import call_function

# The recursion limit of Python: a call of the program nests several calls of guards.
_OWN_DEPTH = 60_000


class CountedProgram:
    """A Python program whose functions can be called.

    Args:
        text: the program.

    Raises:
        SyntaxError: the program is not valid Python.
        Uncounted: the program uses a part of Python that is not supported.
    """

    def __init__(self, text: str):
        self._meter = Meter()
        tree = ast.parse(text, "answer.py")
        rewriter = ProgramRewriter(tree)
        tree.body = rewriter.rewrite_block(tree.body)
        self._guards = {**make_guards(self._meter), **rewriter.texts}
        self._code = compile(tree, "answer.py", "exec", dont_inherit=True, optimize=0)

    def call(self, function: str, arguments: Sequence[Any], most: int) -> tuple[Any, int]:
        """Run the program, then call one of its functions. Only changes of the arguments outlast a call.

        Args:
            function: the name of the function.
            arguments: plain data.
            most: the maximum number of steps.

        Returns:
            the value, and the number of steps, including the steps of running the program.

        Raises:
            OutOfWork: running the program and the call take more than ``most`` steps.
            Uncounted: the program uses a part of Python that is not supported.
            Exception: any exception that the program raises.
        """
        meter, names = self._meter, {"__builtins__": self._guards}
        meter.begin(most)
        exec(self._code, names)
        if function not in names:
            raise NameError(f"name {function!r} is not defined")
        meter.charge(1)
        value = call_function(meter, names[function], *arguments)
        meter.charge(0)
        return value, most - meter.left


def count_call(text: str, function: str, arguments: Sequence[Any], most: int) -> tuple[str, Any, int]:
    """Call a function of an untrusted program, in a process that does nothing else.

    Returns:
        ("", value, steps), or (error, message, 0), where the error is `WORK`, `UNCOUNTED`, or the name of an exception.
    """
    sys.setrecursionlimit(_OWN_DEPTH)
    try:
        # Python's own compiler finds errors that the parser does not, such as a break outside a loop.
        compile(text, "answer.py", "exec", dont_inherit=True)
        value, steps = CountedProgram(text).call(function, arguments, most)
    except OutOfWork:
        return WORK, f"it takes more than {most} steps", 0
    except Uncounted as error:
        return UNCOUNTED, str(error), 0
    except Exception as error:
        return type(error).__name__, str(error)[:200], 0
    return "", value, steps
