"""What the steps of programs are made of: words for the specification, and code as people write it.

The tables of steps are in `steps_on_numbers`, `steps_on_lists` and `steps_on_text`; `programs` chains them.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

# The types of values between steps.
INTEGER, LIST, TEXT, WORDS = "int", "list", "str", "words"


# What a sentence says of one thing, and how that is put.
_OF_ONE = (
    (re.compile(r"the (first|last) 1 (number|character)s, or all if there are fewer"), r"the \1 \2, if there is one"),
    (re.compile(r"the (first|last) 1 (number|character)s"), r"the \1 \2"),
    (re.compile(r"are more than 1 words"), "is more than one word"),
    (re.compile(r"\b1 places later"), "1 place later"),
)


def worded(words: str, c: Any = "", d: Any = "") -> str:
    """The words of a step or a condition with its constants."""
    said = words.format(c=c, d=d)
    for pattern, better in _OF_ONE if c == 1 else ():
        said = pattern.sub(better, said)
    return said


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
