"""The row types of the tables of steps: a step is a sentence of the specification with its code.

The tables are in `steps_on_numbers`, `steps_on_lists` and `steps_on_text`; `grammar` chains their steps to programs.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

# The types of values between steps.
INTEGER, LIST, TEXT, WORDS = "int", "list", "str", "words"


# Plural phrases, and their singular for the constant 1.
_SINGULAR = (
    (re.compile(r"the (first|last) 1 (number|character)s, or all if there are fewer"), r"the \1 \2, if there is one"),
    (re.compile(r"the (first|last) 1 (number|character)s"), r"the \1 \2"),
    (re.compile(r"are more than 1 words"), "is more than one word"),
    (re.compile(r"\b1 places later"), "1 place later"),
)


def fill_words(words: str, c: Any = "", d: Any = "") -> str:
    """Fill the constants into the words of a step or a condition."""
    sentence = words.format(c=c, d=d)
    for plural, singular in _SINGULAR if c == 1 else ():
        sentence = plural.sub(singular, sentence)
    return sentence


class StepKind(NamedTuple):
    """One kind of step.

    Args:
        takes, gives: types of the value before and after the step.
        words: the unambiguous sentence of the specification. ``{c}`` and ``{d}`` stand for constants.
        name: the variable that holds the result.
        codes: ways to write the step, laid out as by `ast.unparse`; ``{x}`` is the value before, ``{y}`` the result.
        c, d: the values of the constants; an empty range if there is no such constant.
    """

    takes: str
    gives: str
    words: str
    name: str
    codes: tuple[str, ...]
    c: range = range(0)
    d: range = range(0)


class Condition(NamedTuple):
    """A condition for a step: the type of the value, the words after "If", the expression, and its constants."""

    takes: str
    words: str
    code: str
    c: range = range(0)
