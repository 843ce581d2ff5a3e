"""A program whose steps are counted, and `measure`, which is what the sandbox calls."""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from typing import Any

# These fill the tables of what can be translated.
from . import call_nodes, comprehensions, definitions, exceptions, expression_nodes  # noqa: F401
from .meter import UNCOUNTED, WORK, Meter, OutOfWork, Uncounted
from .scopes import Scope
from .statement_nodes import block
from .values import Frame, call

# Calls nest a dozen of Python's own each.
_OWN_DEPTH = 60_000


class CountedProgram:
    """A Python program, of which functions can be called.

    Args:
        text: the program.

    Raises:
        SyntaxError: it is no Python.
        Uncounted: it uses something that is not counted.
    """

    def __init__(self, text: str):
        self._meter, self._everywhere = Meter(), Frame()
        tree = ast.parse(text, "answer.py")
        self._body = block(tree.body, Scope(self._meter, self._everywhere, None, set(), set()))

    def call(self, function: str, arguments: Sequence[Any], most: int) -> tuple[Any, int]:
        """What a function returns, and the steps that it takes, those of the program around it included. Everything
        begins afresh with each call, but for arguments that are changed.

        Raises:
            OutOfWork: that takes more than ``most`` steps.
            Uncounted: something is used that is not counted.
            Exception: what the program raises.
        """
        meter = self._meter
        meter.left, meter.depth = most, 0
        meter.handled.clear()
        self._everywhere.clear()
        self._body(self._everywhere)
        if function not in self._everywhere:
            raise NameError(f"name {function!r} is not defined")
        meter.charge(1)
        value = call(meter, self._everywhere[function], [*arguments])
        meter.charge(0)
        return value, most - meter.left


def count_call(text: str, function: str, arguments: Sequence[Any], most: int) -> tuple[str, Any, int]:
    """Call a function of a program that is not trusted, in a process that is for nothing else.

    Returns:
        ("", its value, steps), or (why there is none, in one word, and in one sentence, 0): the word is `WORK`,
        `UNCOUNTED`, or the name of an exception.
    """
    sys.setrecursionlimit(_OWN_DEPTH)
    try:
        # Finds what only the whole of Python's compiler does, such as a break outside a loop.
        compile(text, "answer.py", "exec", dont_inherit=True)
        value, steps = CountedProgram(text).call(function, arguments, most)
    except OutOfWork:
        return WORK, f"it takes more than {most} steps", 0
    except Uncounted as error:
        return UNCOUNTED, str(error), 0
    except Exception as error:
        return type(error).__name__, str(error)[:200], 0
    return "", value, steps
