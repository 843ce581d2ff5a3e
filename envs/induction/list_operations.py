"""The operations of `ListFunctions`: their words in the prompt, and their effect on a tuple of ints.

All operations are defined on every list: the sum and the length of the empty list are 0, and operations that insert the
largest number leave the empty list empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import accumulate, pairwise, product

Numbers = tuple[int, ...]
Operation = Callable[[Numbers], Numbers]


def _add_number(number: Callable[[Numbers], int], end: bool) -> Operation:
    return lambda x: ((*x, number(x)) if end else (number(x), *x)) if x else x


def _map_numbers(function: Callable[[int], int]) -> Operation:
    return lambda x: tuple([function(v) for v in x])


def _keep_numbers(holds: Callable[[int], bool]) -> Operation:
    return lambda x: tuple([v for v in x if holds(v)])


def _rotate(places: int) -> Operation:
    return lambda x: x[places:] + x[:places]


# Words with placeholders for constants, the possible constants, and the function that makes the operation from them.
_KINDS: list[tuple[str, list[Iterable[int]], Callable[..., Operation]]] = [
    ("reverse the list", [], lambda: lambda x: x[::-1]),
    ("sort the list in increasing order", [], lambda: lambda x: tuple(sorted(x))),
    ("sort the list in decreasing order", [], lambda: lambda x: tuple(sorted(x, reverse=True))),
    ("swap the first and the last number", [], lambda: lambda x: (x[-1], *x[1:-1], x[0]) if len(x) > 1 else x),
    ("move the first number to the end", [], lambda: _rotate(1)),
    ("move the last number to the front", [], lambda: _rotate(-1)),
    ("remove the first {} numbers", [(2, 3)], lambda k: lambda x: x[k:]),
    ("remove the last {} numbers", [(2, 3)], lambda k: lambda x: x[:-k]),
    ("keep only the first {} numbers", [(3, 4, 5)], lambda k: lambda x: x[:k]),
    ("keep only the last {} numbers", [(3, 4, 5)], lambda k: lambda x: x[-k:]),
    ("keep every second number, from the first one on", [], lambda: lambda x: x[::2]),
    ("keep every second number, from the second one on", [], lambda: lambda x: x[1::2]),
    ("keep each number only where it comes first", [], lambda: lambda x: tuple(dict.fromkeys(x))),
    ("keep only the even numbers", [], lambda: _keep_numbers(lambda v: v % 2 == 0)),
    ("keep only the odd numbers", [], lambda: _keep_numbers(lambda v: v % 2 == 1)),
    ("keep only the numbers above {}", [range(2, 6)], lambda c: _keep_numbers(lambda v: v > c)),
    ("keep only the numbers below {}", [range(4, 9)], lambda c: _keep_numbers(lambda v: v < c)),
    ("remove every {}", [range(10)], lambda c: _keep_numbers(lambda v: v != c)),
    ("remove the largest number wherever it occurs", [], lambda: lambda x: tuple([v for v in x if v != max(x)])),
    ("add {} to each number", [range(1, 8)], lambda c: _map_numbers(lambda v: v + c)),
    ("subtract {} from each number", [range(1, 4)], lambda c: _map_numbers(lambda v: v - c)),
    ("multiply each number by {}", [(2, 3)], lambda c: _map_numbers(lambda v: v * c)),
    ("subtract each number from {}", [(9, 10, 20)], lambda c: _map_numbers(lambda v: c - v)),
    ("halve each number, rounding down", [], lambda: _map_numbers(lambda v: v // 2)),
    (
        "replace each number by its remainder modulo {}, never negative",
        [range(3, 8)],
        lambda c: _map_numbers(lambda v: v % c),
    ),
    ("replace each number above {0} by {0}", [range(4, 8)], lambda c: _map_numbers(lambda v: min(v, c))),
    ("replace every {} by {}", [range(10), range(0, 10, 3)], lambda a, b: _map_numbers(lambda v: b if v == a else v)),
    (
        "add to each number its position, counted from 1",
        [],
        lambda: lambda x: tuple([i + v for i, v in enumerate(x, 1)]),
    ),
    ("replace each number by how often it is in the list", [], lambda: lambda x: tuple([x.count(v) for v in x])),
    ("replace each number by the sum of it and all before it", [], lambda: lambda x: tuple(accumulate(x))),
    ("replace each number by the largest number up to it", [], lambda: lambda x: tuple(accumulate(x, max))),
    (
        "list how much each number exceeds the one before it",
        [],
        lambda: lambda x: tuple([b - a for a, b in pairwise(x)]),
    ),
    ("put {} at the front", [range(10)], lambda c: lambda x: (c, *x)),
    ("put {} at the end", [range(10)], lambda c: lambda x: (*x, c)),
    ("put the length of the list at the front", [], lambda: lambda x: (len(x), *x)),
    ("put the length of the list at the end", [], lambda: lambda x: (*x, len(x))),
    ("put the sum of the list at the front", [], lambda: lambda x: (sum(x), *x)),
    ("put the sum of the list at the end", [], lambda: lambda x: (*x, sum(x))),
    ("put the largest number also at the front", [], lambda: _add_number(max, False)),
    ("put the smallest number also at the end", [], lambda: _add_number(min, True)),
    ("write the list twice in a row", [], lambda: lambda x: x + x),
    ("write each number twice in a row", [], lambda: lambda x: tuple([w for v in x for w in (v, v)])),
    ("put the reversed list after the list", [], lambda: lambda x: x + x[::-1]),
]


_BY_KIND = [
    {words.format(*values): make(*values) for values in product(*constants) if len(set(values)) == len(values)}
    for words, constants, make in _KINDS
]
# The words of the operations of each kind, and all operations by their words.
KINDS = [tuple(operations) for operations in _BY_KIND]
OPERATIONS: dict[str, Operation] = {words: made for operations in _BY_KIND for words, made in operations.items()}
