"""What a test of a data set expects of a value or of printed text, compared in this process with what came back.

The received side is plain data that a program made and may be anything: nothing here raises for it, and the work is
bounded by its size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

# What may be done to a returned value before it is compared; round has its digits behind a colon.
WRAPPERS = ("sorted", "set", "frozenset", "list", "tuple", "len", "sum", "str", "round")
# By which floating-point numbers may differ where a data set compares as its judges do.
_CLOSE = 1e-6


@dataclass(frozen=True, slots=True)
class Expectation:
    """What is expected of a returned value.

    Args:
        value: to compare with.
        relation: "equal": as ``==`` does; "is": the same, and of the same type; "in": one of those in ``value``;
            "true", "false": as ``if`` takes it; "near": by ``absolute`` at most; "close": as `math.isclose` has it;
            "alike": equal as JSON, but for the last digits of numbers with a decimal point; "either": alike one of
            those in ``value``.
        through: names in `WRAPPERS`, applied to what was returned, the first one first.
        absolute, relative: tolerances, the latter for "close" alone.
        strict: whether for "near" the tolerance itself is too much.
    """

    value: Any
    relation: str = "equal"
    through: tuple[str, ...] = ()
    absolute: float = 0.0
    relative: float = 0.0
    strict: bool = False

    def __repr__(self) -> str:
        """For feedback: "4", "about 0.5", "[1, 2] after sorted"."""
        said = {
            "true": "something true",
            "false": "something false",
            "in": f"one of {self.value!r}",
            "either": repr(self.value[0]) if self.relation == "either" else "",
            "near": f"about {self.value!r}",
            "close": f"about {self.value!r}",
        }.get(self.relation, repr(self.value))
        return " ".join((said, *(f"after {name.partition(':')[0]}" for name in self.through)))

    def holds(self, received: Any) -> bool:
        """Whether ``received`` is what is expected."""
        try:
            for name in self.through:
                if name in ("set", "frozenset"):
                    return self.relation == "equal" and _same_set(self.value, received)
                received = _applied(name, received)
            return self._agrees(received)
        # What a value does not bear: an order of text and numbers, the size of a number, a hash of a list.
        except (TypeError, ValueError, ArithmeticError, RecursionError):
            return False

    def _agrees(self, received: Any) -> bool:
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
            return _alike(value, received)
        if self.relation == "either":
            return any(_alike(one, received) for one in value)
        if self.relation == "close":
            return math.isclose(value, received, rel_tol=self.relative, abs_tol=self.absolute)
        gap = abs(value - received)
        return bool(gap < self.absolute if self.strict else gap <= self.absolute)


def agrees(expected: Any, received: Any) -> bool:
    """The checker for `sandbox.run_tests`: of an `Expectation`, or of text that is to be printed."""
    return expected.holds(received) if isinstance(expected, Expectation) else same_text(expected, received)


def same_text(expected: str, received: str) -> bool:
    """Whether what was printed is what is expected: the same words in the same lines, where numbers with a decimal
    point may differ by one part in a million. Blank lines at the end do not count."""
    ours, theirs = ([line.split() for line in text.rstrip().split("\n")] for text in (expected, received))
    return len(ours) == len(theirs) and all(
        len(a) == len(b) and all(map(_same_word, a, b)) for a, b in zip(ours, theirs)
    )


def _same_word(expected: str, received: str) -> bool:
    if expected == received:
        return True
    if "." not in expected or "_" in expected + received:
        return False
    try:
        return math.isclose(float(expected), float(received), rel_tol=_CLOSE, abs_tol=_CLOSE)
    except ValueError:
        return False


def _applied(name: str, received: Any) -> Any:
    name, _, digits = name.partition(":")
    if name == "round":
        return round(received, int(digits)) if digits else round(received)
    return {"sorted": sorted, "list": list, "tuple": tuple, "len": len, "sum": sum, "str": str}[name](received)


def _same_set(expected: Any, received: Any) -> bool:
    """``set(received) == expected``, without a table of values that a program has chosen to be slow."""
    return isinstance(expected, (set, frozenset)) and (
        all(item in expected for item in received) and {item for item in received if item in expected} == expected
    )


def _alike(expected: Any, received: Any) -> bool:
    if isinstance(expected, bool) or isinstance(received, bool):
        return expected is received
    if isinstance(expected, float) and isinstance(received, (int, float)):
        # JSON of a data set may have NaN, which is then what is right.
        if math.isnan(expected):
            return math.isnan(received)
        return math.isclose(expected, received, rel_tol=_CLOSE, abs_tol=_CLOSE)
    if isinstance(expected, (list, tuple)) and isinstance(received, (list, tuple)):
        return len(expected) == len(received) and all(map(_alike, expected, received))
    if isinstance(expected, dict) and isinstance(received, dict):
        named = {str(key): value for key, value in received.items()}
        return expected.keys() == named.keys() and all(_alike(value, named[key]) for key, value in expected.items())
    return bool(expected == received)
