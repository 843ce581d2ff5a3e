"""Expectations of data-set tests, about returned values or printed text, compared in this process.

The received side is plain data from an untrusted program: no received value makes a function here raise, and the work
is bounded by the value's size.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

# Functions that may be applied to a returned value before comparison; "round" has its digits after a colon.
_APPLIED = {function.__name__: function for function in (sorted, list, tuple, len, sum, str, round)}
WRAPPERS = ("set", "frozenset", *_APPLIED)
# Relative and absolute tolerance of floating-point numbers in the data sets whose judges compare with a tolerance.
_TOLERANCE = 1e-6
_DECIMAL = re.compile(r"[-+]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][-+]?[0-9]{1,4})?")


@dataclass(frozen=True, slots=True)
class Expectation:
    """An expectation of a returned value.

    Args:
        value: the value to compare with.
        relation: "equal": by ``==``; "is": equal and of the same type; "in": an item of ``value``; "true", "false": the
            truth value; "near": a difference of at most ``absolute``; "close": by `math.isclose`; "alike": equal as
            JSON, with a tolerance for numbers with a decimal point; "either": "alike" for some item of ``value``.
        through: names in `WRAPPERS`, applied to the returned value in this order.
        absolute, relative: tolerances; ``relative`` only for "close".
        strict: True if, for "near", the difference must be less than ``absolute``.
    """

    value: Any
    relation: str = "equal"
    through: tuple[str, ...] = ()
    absolute: float = 0.0
    relative: float = 0.0
    strict: bool = False

    def __repr__(self) -> str:
        """Return the text for feedback: "4", "about 0.5", "[1, 2] after sorted"."""
        text = {
            "true": "something true",
            "false": "something false",
            "in": f"one of {self.value!r}",
            "either": repr(self.value[0]) if self.relation == "either" else "",
            "near": f"about {self.value!r}",
            "close": f"about {self.value!r}",
        }.get(self.relation, repr(self.value))
        return " ".join((text, *(f"after {name.partition(':')[0]}" for name in self.through)))

    def holds(self, received: Any) -> bool:
        """Return True if a returned value meets the expectation; False also if the two cannot be compared."""
        try:
            for wrapper in self.through:
                name, _, digits = wrapper.partition(":")
                if name in ("set", "frozenset"):
                    if self.relation != "equal" or not isinstance(self.value, (set, frozenset)):
                        return False
                    # Only expected values enter another set, as a program could choose values that collide.
                    return all(item in self.value for item in received) and set(received) == self.value
                received = _APPLIED[name](received, *([int(digits)] if digits else []))
            return self._meets_relation(received)
        # The value does not support the operation: ordering text and numbers, the size of a number, hashing a list.
        except (TypeError, ValueError, ArithmeticError, RecursionError):
            return False

    def _meets_relation(self, received: Any) -> bool:
        value = self.value
        if self.relation == "equal":
            return bool(value == received)
        if self.relation == "is":
            return type(value) is type(received) and bool(value == received)
        if self.relation == "in":
            return any(one == received for one in value)
        if self.relation in ("true", "false"):
            return bool(received) is (self.relation == "true")
        if self.relation == "alike":
            return _is_alike(value, received)
        if self.relation == "either":
            return any(_is_alike(one, received) for one in value)
        if self.relation == "close":
            return math.isclose(value, received, rel_tol=self.relative, abs_tol=self.absolute)
        gap = abs(value - received)
        return bool(gap < self.absolute if self.strict else gap <= self.absolute)


def meets_expectation(expected: Any, received: Any) -> bool:
    """Return True if a returned value meets its `Expectation`, or a printed text is the expected text.

    A function ``compare`` of `sandbox.run_tests`.
    """
    return expected.holds(received) if isinstance(expected, Expectation) else is_same_text(expected, received)


def is_same_text(expected: str, received: str) -> bool:
    """Return True for the same words in the same lines. If one of two numbers has a decimal point or an exponent, they
    may differ by one part in a million. Blank lines at the ends are ignored."""
    ours, theirs = ([line.split() for line in text.strip().split("\n")] for text in (expected, received))
    return len(ours) == len(theirs) and all(
        len(a) == len(b) and all(map(_is_same_word, a, b)) for a, b in zip(ours, theirs)
    )


def _is_same_word(expected: str, received: str) -> bool:
    if expected == received:
        return True
    if not (_DECIMAL.fullmatch(expected) and _DECIMAL.fullmatch(received)):
        return False
    if expected.lstrip("+-").isdigit() and received.lstrip("+-").isdigit():
        return False
    return math.isclose(float(expected), float(received), rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)


def _is_alike(expected: Any, received: Any) -> bool:
    if isinstance(expected, bool) or isinstance(received, bool):
        # As in Python, True is 1.
        return isinstance(expected, (bool, int)) and isinstance(received, (bool, int)) and expected == received
    if isinstance(expected, float) and isinstance(received, (int, float)):
        # JSON of a data set may contain NaN; then NaN is right.
        if math.isnan(expected):
            return math.isnan(received)
        return math.isclose(expected, received, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
    if isinstance(expected, (list, tuple)) and isinstance(received, (list, tuple)):
        return len(expected) == len(received) and all(map(_is_alike, expected, received))
    if isinstance(expected, dict) and isinstance(received, dict):
        named = {str(key): value for key, value in received.items()}
        return expected.keys() == named.keys() and all(_is_alike(value, named[key]) for key, value in expected.items())
    return bool(expected == received)
