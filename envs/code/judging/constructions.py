"""Combinatorial constructions whose best known value is published: exact verification, start and record programs.

A program defines ``construct()``, which returns a construction as lists of numbers. `measure` checks it in whole
numbers and fractions and returns its value; a record program reaches the best known value of `CONSTRUCTIONS`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

_MOST_ITEMS, _LARGEST = 4_000, 10**9


class InvalidConstruction(ValueError):
    """Error for a value that is no construction of its kind; the message names the broken rule."""


@dataclass(frozen=True)
class Construction:
    """A kind of construction.

    Attributes:
        asks: what ``construct()`` must return; ``{n}`` is replaced by the size.
        value: what is counted, in words.
        maximise: False if smaller values are better.
        best: size -> best known value.
        source: where the best known values are published.
        measure: (construction, size) -> exact value; raises `InvalidConstruction`.
        start: body of a valid but poor ``construct()``, with ``{n}`` and a free constant ``{a}``, at least 1.
        record: size -> body of a ``construct()`` that reaches the best known value.
    """

    asks: str
    value: str
    maximise: bool
    best: dict[int, float]
    source: str
    measure: Callable[[Any, int], int | Fraction]
    start: str
    record: Callable[[int], str]

    @property
    def sizes(self) -> list[int]:
        """The sizes with a best known value, the smallest first."""
        return sorted(self.best)

    def progress(self, value: int | Fraction, size: int) -> float:
        """Return the value as a share of the best known one, at most 1."""
        best = Fraction(self.best[size])
        ratio = Fraction(value) / best if self.maximise else best / Fraction(value)
        return float(min(ratio, Fraction(1)))


def _rows(value: Any, columns: int) -> list[list[int]]:
    """Return the rows of a list of integer vectors of one length. Raise `InvalidConstruction` for anything else."""
    if not isinstance(value, list | tuple) or not 0 < len(value) <= _MOST_ITEMS:
        raise InvalidConstruction(f"a list of 1 to {_MOST_ITEMS} vectors is needed")
    for row in value:
        if not isinstance(row, list | tuple) or len(row) != columns:
            raise InvalidConstruction(f"every vector must have {columns} coordinates")
        if not all(type(x) is int and abs(x) <= _LARGEST for x in row):
            raise InvalidConstruction(f"coordinates must be whole numbers up to {_LARGEST}")
    return [list(row) for row in value]


def ruler_length(marks: Any, n: int) -> int:
    """Return the length of a Golomb ruler: n marks, no two pairs at the same distance."""
    if not isinstance(marks, list | tuple) or len(marks) != n or not all(type(m) is int for m in marks):
        raise InvalidConstruction(f"a list of {n} whole numbers is needed")
    if max(map(abs, marks)) > _LARGEST:
        raise InvalidConstruction(f"marks must not exceed {_LARGEST}")
    distances = [abs(a - b) for a, b in itertools.combinations(marks, 2)]
    if len(set(distances)) < len(distances) or 0 in distances:
        raise InvalidConstruction("two pairs of marks have the same distance")
    return max(marks) - min(marks)


def cap_set_size(vectors: Any, n: int) -> int:
    """Return the size of a cap set: different vectors in F_3^n, no three of which sum to 0."""
    rows = [tuple(x % 3 for x in row) for row in _rows(vectors, n)]
    found = set(rows)
    if len(found) < len(rows):
        raise InvalidConstruction("a vector occurs twice modulo 3")
    for a, b in itertools.combinations(rows, 2):
        if tuple(-(x + y) % 3 for x, y in zip(a, b)) in found:
            raise InvalidConstruction("three vectors sum to 0 modulo 3")
    return len(rows)


def determinant(matrix: Any, n: int) -> int:
    """Return |det| of an n x n matrix of 1 and -1, by fraction-free elimination (Bareiss 1968)."""
    rows = _rows(matrix, n)
    if len(rows) != n or any(abs(x) != 1 for row in rows for x in row):
        raise InvalidConstruction(f"{n} rows of {n} entries 1 or -1 are needed")
    sign, before = 1, 1
    for k in range(n - 1):
        pivot = next((i for i in range(k, n) if rows[i][k]), None)
        if pivot is None:
            return 0
        if pivot != k:
            rows[k], rows[pivot], sign = rows[pivot], rows[k], -sign
        for i in range(k + 1, n):
            for j in range(k + 1, n):
                rows[i][j] = (rows[i][j] * rows[k][k] - rows[i][k] * rows[k][j]) // before
        before = rows[k][k]
    return abs(sign * rows[-1][-1])


def kissing_number(vectors: Any, n: int) -> int:
    """Return the number of equal spheres that touch one in n dimensions: different vectors, whose smallest distance is
    at least their largest length."""
    rows = _rows(vectors, n)
    longest = max(sum(x * x for x in row) for row in rows)
    closest = min(
        (sum((x - y) ** 2 for x, y in zip(a, b)) for a, b in itertools.combinations(rows, 2)), default=longest
    )
    if longest == 0 or closest < longest:
        raise InvalidConstruction("two vectors are closer than the longest one is long")
    return len(rows)


def sum_of_radii(circles: Any, n: int) -> Fraction:
    """Return the sum of the radii of n circles [x, y, r] in the unit square that do not overlap; every float counts as
    the exact fraction that it is."""
    if not isinstance(circles, list | tuple) or len(circles) != n:
        raise InvalidConstruction(f"a list of {n} circles is needed")
    found = []
    for circle in circles:
        good = isinstance(circle, list | tuple) and len(circle) == 3
        if not good or not all(type(x) in (int, float) and math.isfinite(x) for x in circle):
            raise InvalidConstruction("every circle must be three numbers, x, y and r")
        x, y, r = map(Fraction, circle)
        if r < 0 or min(x, y, 1 - x, 1 - y) < r:
            raise InvalidConstruction("a circle leaves the unit square")
        found.append((x, y, r))
    for (x, y, r), (u, v, s) in itertools.combinations(found, 2):
        if (x - u) ** 2 + (y - v) ** 2 < (r + s) ** 2:
            raise InvalidConstruction("two circles overlap")
    return sum((r for _, _, r in found), Fraction(0))


_RULERS = {
    5: (0, 1, 4, 9, 11),
    8: (0, 1, 4, 9, 15, 22, 32, 34),
    11: (0, 1, 4, 13, 28, 33, 47, 54, 64, 70, 72),
    14: (0, 4, 6, 20, 35, 52, 59, 77, 78, 86, 89, 99, 122, 127),
}


# Vectors of maximum cap sets, a digit per coordinate, and circles "x y r"; found by local search for this package.
_CAPS = {
    2: "01 02 10 12",
    3: "001 002 010 011 110 200 201 211 220",
    4: "0000 0001 0022 0100 0101 0122 0212 0220 0221 1100 1120 2000 2002 2011 2101 2120 2122 2201 2220 2222",
    5: (
        "00001 00020 00200 00210 00212 01011 01012 01020 01022 01101 01111 01120 01222 02011 02120 02200 "
        "02210 02222 10001 10100 11020 11021 12001 12101 12112 12121 12222 20011 20211 21010 21100 21101 "
        "21111 21112 21200 21210 21221 22000 22001 22111 22120 22121 22200 22202 22220"
    ),
}
_CIRCLES = {
    26: (
        ".1103899 .1103899 .11038960; .3046186 .0854353 .08543500; .4884983 .0989396 .09893930; .6818032 "
        ".0944181 .09441780; .8877242 .1122758 .11227543; .0974270 .3178021 .09742670; .2471013 .2341661 "
        ".07402930; .4074096 .2698072 .09019262; .5935550 .2632301 .09606841; .7578856 .2400487 .06988858; "
        ".9035368 .3204149 .09646284; .1036427 .5187757 .10364240; .2744342 .4066885 .10064426; .5006465 "
        ".4757539 .13587571; .7269424 .4075720 .10046790; .8967945 .5199697 .10320519; .1048219 .7272369 "
        ".10482160; .2965002 .6206815 .11448266; .5003531 .7271096 .11547951; .7042459 .6211430 .11430493; "
        ".8954168 .7277539 .10458290; .0845166 .9154834 .08451630; .2960964 .8675821 .13241759; .5002727 "
        ".9212947 .07870499; .7043395 .8677241 .13227558; .9156266 .9156266 .08437310"
    ),
}


def _write_hadamard(n: int) -> str:
    if n & (n - 1) == 0:
        return f"return [[(-1) ** bin(i & j).count('1') for j in range({n})] for i in range({n})]"
    q = n - 1  # Paley's construction, for a prime q = 3 mod 4
    return (
        f"q = {q}\nsquares = {{x * x % q for x in range(1, q)}}\nrows = [[1] * (q + 1)]\nfor i in range(q):\n"
        "    rows.append([-1] + [1 if i == j or (j - i) % q in squares else -1 for j in range(q)])\nreturn rows"
    )


def _write_kissing(n: int) -> str:
    pairs = (
        "import itertools\nfound = []\nfor i, j in itertools.combinations(range(n), 2):\n"
        "    for s, t in itertools.product((-2, 2), repeat=2):\n        found.append([0] * n)\n"
        "        found[-1][i], found[-1][j] = s, t\n"
    )
    halves = "found += [list(v) for v in itertools.product((-1, 1), repeat=n) if v.count(-1) % 2 == 0]\n"
    return f"n = {n}\n{pairs}{halves if n == 8 else ''}return found"


CONSTRUCTIONS = {
    "golomb_ruler": Construction(
        "a list of {n} whole numbers, the marks of a ruler, such that no two pairs of marks have the same distance",
        "the length of the ruler, the largest mark less the smallest, which should be small",
        False,
        {n: float(marks[-1]) for n, marks in _RULERS.items()},
        "optimal rulers, found by exhaustive search (Shearer; OEIS A003022)",
        ruler_length,
        "return [{a} * 2 ** i for i in range({n})]",
        lambda n: f"return {list(_RULERS[n])!r}",
    ),
    "determinant": Construction(
        "{n} lists of {n} numbers 1 or -1, a matrix",
        "the absolute value of its determinant, which should be large",
        True,
        {n: float(n ** (n // 2)) for n in (4, 8, 12, 16)},
        "Hadamard's bound n^(n/2), reached at these sizes (Hadamard 1893, Paley 1933)",
        determinant,
        "return [[1 if j <= (i + {a}) % {n} else -1 for j in range({n})] for i in range({n})]",
        _write_hadamard,
    ),
    "kissing": Construction(
        "a list of vectors, each a list of {n} whole numbers, such that no two are closer than the longest one is long",
        "their number, which should be large",
        True,
        {3: 12.0, 4: 24.0, 5: 40.0, 8: 240.0},
        "kissing numbers: proven in 3, 4 and 8 dimensions, best known in 5 (Conway and Sloane, table 1.5)",
        kissing_number,
        "return [[{a} * s if i == j else 0 for j in range({n})] for i in range({n}) for s in (1, -1)]",
        _write_kissing,
    ),
    "cap_set": Construction(
        "a list of different vectors, each a list of {n} numbers 0, 1 or 2, no three of which sum to 0 modulo 3 in "
        "every coordinate",
        "their number, which should be large",
        True,
        {2: 4.0, 3: 9.0, 4: 20.0, 5: 45.0},
        "maximum cap sets, proven (Edel, Ferret, Landjev, Storme 2002)",
        cap_set_size,
        "return [[({a} % 2 + 1) * (i == j) for j in range({n})] for i in range({n})]",
        lambda n: f"return [[int(digit) for digit in word] for word in '{_CAPS[n]}'.split()]",
    ),
    "circle_packing": Construction(
        "a list of {n} circles, each a list x, y, r, inside the unit square and without overlap",
        "the sum of their radii, which should be large",
        True,
        {26: 2.635},
        "AlphaEvolve (arXiv 2506.13131, section B.12)",
        sum_of_radii,
        "return [[(i % 6 + 0.5) / 6, (i // 6 + 0.5) / 6, {a} / 10000 / 12.001] for i in range({n})]",
        lambda n: f"return [[float(x) for x in circle.split()] for circle in '{_CIRCLES[n]}'.split(';')]",
    ),
}
