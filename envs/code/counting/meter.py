"""What is counted: the meter, and what work on values costs beyond the step that asks for it."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Iterator
from typing import Any

# Whole numbers between -SMALL and SMALL cost no more than a step.
SMALL = 1 << 62
_WORD = 64
# Characters that are compared in one step.
_COMPARED_AT_ONCE = 3


# Why a call has no value, besides the names of exceptions.
WORK, UNCOUNTED = "work", "uncounted"


class OutOfWork(BaseException):
    """The program took more steps than it was given."""


class Uncounted(BaseException):
    """The program uses something whose work is not counted here. The message says what, and what to use instead."""


class Meter:
    """Steps that are left, calls under way, and the exceptions that handlers are at work on."""

    __slots__ = ("depth", "handled", "left")

    def __init__(self) -> None:
        self.left = 0
        self.depth = 0
        self.handled: list[Exception] = []

    def charge(self, steps: int) -> None:
        """Take steps away.

        Raises:
            OutOfWork: fewer are left.
        """
        self.left -= steps
        if self.left < 0:
            raise OutOfWork


_VIEWS = tuple(type(view) for view in ({}.keys(), {}.values(), {}.items()))
KEYS_VIEW, VALUES_VIEW, ITEMS_VIEW = _VIEWS
MAPPINGS = frozenset({dict, collections.Counter, collections.defaultdict})
CONTAINERS = frozenset({list, tuple, set, frozenset, collections.deque, *MAPPINGS})
# What holds other values.
HOLDERS = frozenset({*CONTAINERS, *_VIEWS})
# What has a length and can be gone over again and again.
SIZED = frozenset({str, range, *HOLDERS})


def words(number: int) -> int:
    """Machine words of a whole number, beyond the first."""
    return number.bit_length() // _WORD


def size(value: Any) -> int:
    """The length of what has one, or else 0."""
    return len(value) if type(value) in SIZED else 0


def weight(meter: Meter, value: Any) -> int:
    """Steps, beyond one, that it takes to compare or hash a value: the size of all that it holds."""
    kind = type(value)
    if kind is int:
        return 0 if -SMALL < value < SMALL else words(value)
    if kind is str:
        return len(value) >> _COMPARED_AT_ONCE
    if isinstance(value, Exception):
        value, kind = value.args, tuple
    if kind not in HOLDERS:
        return 0
    total, waiting = 0, [value]
    while waiting:
        item = waiting.pop()
        kind = type(item)
        if kind in HOLDERS:
            total += len(item)
            if total > meter.left:
                meter.charge(total)
            waiting.extend(item)
            if kind in MAPPINGS:
                waiting.extend(item.values())
        elif kind is str:
            total += len(item) >> _COMPARED_AT_ONCE
        elif kind is int:
            total += words(item)
        elif isinstance(item, Exception):
            waiting.append(item.args)
    return total


def walk(meter: Meter, values: Any) -> Iterable[Any]:
    """The values one by one, each of which costs a step.

    Raises:
        TypeError: they cannot be gone over.
    """
    if type(values) in SIZED:
        meter.charge(len(values))
        return values
    return _metered(meter, iterator(values))


def iterator(values: Any) -> Iterator[Any]:
    """As the built-in function iter."""
    if type(values) in SIZED or hasattr(values, "__next__"):
        return iter(values)
    raise TypeError(f"{type(values).__name__!r} object is not iterable")


def _metered(meter: Meter, values: Iterator[Any]) -> Iterator[Any]:
    for value in values:
        meter.charge(1)
        yield value


def keys(meter: Meter, values: Any) -> Iterator[Any]:
    """As `walk`, for values that are to be hashed."""
    for value in walk(meter, values):
        meter.charge(weight(meter, value))
        yield value


def rounds(count: int) -> int:
    """The logarithm to the base 2, rounded up."""
    return max(count - 1, 0).bit_length()
