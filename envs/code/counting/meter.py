"""The meter of steps, and the costs of values: the work of an operation beyond its own step."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Iterator
from typing import Any

# Integers between -SMALL and SMALL cost no more than a step.
SMALL = 1 << 62
_WORD = 64
# Log2 of the number of characters compared in one step.
_COMPARED_AT_ONCE = 3


# Errors of a call, besides the names of exceptions: too many steps; a part of Python that is not supported.
WORK, UNCOUNTED = "work", "uncounted"


class OutOfWork(BaseException):
    """Raised when the program exceeds its maximum number of steps."""


class Uncounted(BaseException):
    """Raised when the program uses a part of Python whose work is not counted. The message names it and an
    alternative."""


class Meter:
    """Counter of a call: remaining steps, depth of nested calls, and operands of comparison chains under way."""

    __slots__ = ("depth", "kept", "left")

    def __init__(self) -> None:
        self.begin(0)

    def begin(self, most: int) -> None:
        """Reset the meter for a call of at most ``most`` steps."""
        self.left, self.depth, self.kept = most, 0, []

    def charge(self, steps: int) -> bool:
        """Subtract steps. Return True, so that expressions can charge by ``charge(steps) and ...``.

        Raises:
            OutOfWork: fewer than ``steps`` are left.
        """
        self.left -= steps
        if self.left < 0:
            raise OutOfWork
        return True


_VIEWS = tuple(type(view) for view in ({}.keys(), {}.values(), {}.items()))
KEYS_VIEW, VALUES_VIEW, ITEMS_VIEW = _VIEWS
MAPPINGS = frozenset({dict, collections.Counter, collections.defaultdict})
CONTAINERS = frozenset({list, tuple, set, frozenset, collections.deque, *MAPPINGS})
# Containers and views of dicts: the types whose contents are weighed.
HOLDERS = frozenset({*CONTAINERS, *_VIEWS})
# Types that have a length and can be iterated repeatedly.
SIZED = frozenset({str, range, *HOLDERS})


def extra_words(number: int) -> int:
    """Count the machine words of a whole number beyond the first."""
    return number.bit_length() // _WORD


def size(value: Any) -> int:
    """Return the length of a value, 0 for one without."""
    return len(value) if type(value) in SIZED else 0


def weight(meter: Meter, value: Any) -> int:
    """Count the steps, beyond one, of comparing or hashing a value: the total size of its contents."""
    kind = type(value)
    if kind is int:
        return 0 if -SMALL < value < SMALL else extra_words(value)
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
            total += extra_words(item)
        elif isinstance(item, Exception):
            waiting.append(item.args)
    return total


def walk(meter: Meter, values: Any) -> Iterable[Any]:
    """Iterate over values, each of which costs a step.

    Raises:
        TypeError: the values are not iterable.
    """
    if type(values) in SIZED:
        meter.charge(len(values))
        return values
    return charge_each(meter, iterator(values))


def iterator(values: Any) -> Iterator[Any]:
    """Return ``iter(values)`` for the types of this interpreter."""
    if type(values) in SIZED or hasattr(values, "__next__"):
        return iter(values)
    raise TypeError(f"{type(values).__name__!r} object is not iterable")


def charge_each(meter: Meter, values: Iterator[Any], each: int = 1) -> Iterator[Any]:
    for value in values:
        meter.charge(each)
        yield value


def walk_keys(meter: Meter, values: Any) -> Iterator[Any]:
    """Iterate over values that the caller hashes: each costs one step, and its weight."""
    for value in walk(meter, values):
        meter.charge(weight(meter, value))
        yield value


def ceil_log2(count: int) -> int:
    """Return the logarithm to the base 2, rounded up; 0 for 0."""
    return max(count - 1, 0).bit_length()
