"""What the steps of programs are made of: words for the specification, and code as people write it.

The tables of steps are in `steps_on_numbers`, `steps_on_lists` and `steps_on_text`; `programs` chains them.
"""

from __future__ import annotations

from typing import NamedTuple

# The types of values between steps.
INTEGER, LIST, TEXT, WORDS = "int", "list", "str", "words"


class Kind(NamedTuple):
    """One kind of step.

    Args:
        takes, gives: types of the value before and after it.
        words: the sentence of the specification; it settles every case. ``{c}`` and ``{d}`` stand for constants.
        name: the variable that holds the result.
        codes: ways to write it, as `ast.unparse` would lay it out; ``{x}`` is the value before, ``{y}`` the result.
        c, d: the constants that may stand there, if any.
    """

    takes: str
    gives: str
    words: str
    name: str
    codes: tuple[str, ...]
    c: range = range(0)
    d: range = range(0)


class Condition(NamedTuple):
    """What a step may depend on: a type of value, the words after "If", the expression, and its constants."""

    takes: str
    words: str
    code: str
    c: range = range(0)
