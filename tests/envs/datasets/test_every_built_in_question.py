"""The questions that come with the package: every answer is found a second time, by search or by exact arithmetic."""

from __future__ import annotations

import ast
import json
import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations, pairwise, permutations, product
from math import comb, factorial, gcd, isqrt, lcm, prod
from typing import Any

import pytest
from palaestra.envs.datasets import layouts
from palaestra.envs.datasets.collection import Collection
from palaestra.envs.datasets.layouts import Fields, Item
from palaestra.envs.datasets.questions import BUILT_IN
from palaestra.rewards import verify

FILES = {
    "gsm8k.jsonl": layouts.GSM8K,
    "math.jsonl": layouts.MATH,
    "aime.jsonl": layouts.AIME,
    "multiple_choice.jsonl": layouts.CHOICE,
}
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


def records(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (BUILT_IN / name).read_text(encoding="ascii").splitlines()]


def items(name: str) -> list[Item]:
    layout = FILES[name]
    return [layout.read(Fields(record, name, layout.asks), i) for i, record in enumerate(records(name))]


def exact(expression: str) -> Fraction:
    """The value of a calculator note, by exact fractions."""

    def value(node: Any) -> Fraction:
        if isinstance(node, ast.Constant):
            return Fraction(str(node.value))
        return OPERATORS[type(node.op)](value(node.left), value(node.right))

    return value(ast.parse(expression, mode="eval").body)


@pytest.mark.parametrize("name", FILES)
def test_questions_differ_and_both_splits_have_easy_ones(name: str):
    collection = Collection(items(name))
    assert len(collection.items) == len(records(name)) >= 45
    low, high = collection.rungs
    for rung in range(low, high + 1):
        assert collection.draw(0.0, "all", rung).rung == rung
        assert collection.draw(0.0, "train", rung).rung == rung
    assert collection.draw(0.0, "test", low).rung == low


@pytest.mark.parametrize("name", ["gsm8k.jsonl", "math.jsonl", "aime.jsonl"])
def test_no_answer_is_the_right_one_often(name: str):
    answers = Counter(item.answer for item in items(name))
    assert answers.most_common(1)[0][1] <= 3
    assert sum(answers[guess] for guess in ("0", "1", "2", "10", "42")) <= 1


# GSM8K.


def test_every_step_of_a_word_problem_is_calculated_rightly_from_what_is_known():
    for record in records("gsm8k.jsonl"):
        *lines, last = record["answer"].split("\n")
        known = {Fraction(number) for number in re.findall(r"[0-9]+", record["question"])}
        # What words name: halves, eighths, days of a week, minutes, hundredths, grams.
        known |= {Fraction(k) for k in (1, 2, 3, 4, 5, 6, 7, 8, 10, 60, 100, 1000)}
        result = None
        for line in lines:
            notes = re.findall(r"([0-9+*/.()-]+)=<<([^<>=]+)=([0-9.]+)>>([0-9.]*[0-9])", line)
            assert notes, line
            for before, note, value, after in notes:
                assert before.endswith(note)
                assert value == after
                assert {Fraction(number) for number in re.findall(r"[0-9]+(?:\.[0-9]+)?", note)} <= known, line
                result = exact(note)
                assert result == Fraction(value), line
                known.add(result)
        assert last == f"#### {value}"  # pyright: ignore[reportPossiblyUnboundVariable]


# MATH. In the order of the file: the answer as text, or as a number where a decimal is enough.


def digits(number: int, base: int) -> str:
    return (digits(number // base, base) if number >= base else "") + str(number % base)


def tossed(length: int, run: str) -> int:
    """Sequences of tosses that hold ``run`` nowhere."""
    return sum(run not in "".join(tosses) for tosses in product("HT", repeat=length))


def rolled() -> Fraction:
    return Fraction(sum(a + b == 9 for a, b in product(range(1, 7), repeat=2)), 36)


def mixed_committees() -> int:
    return sum(0 < sum(person < 5 for person in three) < 3 for three in combinations(range(9), 3))


def power_sum() -> float:
    """Of the squares of the roots, which are found numerically by Durand and Kerner's method."""
    roots = [complex(0.4, 0.9) ** k for k in range(3)]
    for _ in range(200):
        roots = [
            x - (x**3 - 6 * x**2 + 5 * x + 9) / prod(x - y for j, y in enumerate(roots) if j != i)
            for i, x in enumerate(roots)
        ]
    return sum(x**2 for x in roots).real


def lowest(function: Callable[[float, float], float]) -> float:
    return min(function(x / 4, y / 4) for x in range(-40, 41) for y in range(-40, 41))


def red_twice() -> Fraction:
    draws = list(combinations("rrrrrrbbbb", 3))
    return Fraction(sum(draw.count("r") == 2 for draw in draws), len(draws))


def off_balance(x: float) -> float:
    return 2 * math.cos(x) ** 2 + 3 * math.sin(x) - 3


def cone_height() -> float:
    """By bisection: the inscribed circle of the cut has radius area / half of the perimeter."""
    low, high = 6.1, 100.0
    for _ in range(200):
        h = (low + high) / 2
        radius = 6 * h / (6 + math.sqrt(36 + h * h))
        low, high = (h, high) if radius < 3 else (low, h)
    return low


negative = [x for x in range(-99, 99) if x * x - 6 * x + 5 < 0]

MATH: list[str | float | Fraction] = [
    *(Fraction(18, 48), next(x for x in range(99) if 5 * x - 7 == 48), Fraction(2, 3) + Fraction(1, 7)),
    *(9 + 13 + 9 + 13, gcd(84, 132), "(x+4)(x-9)", len(list(permutations(range(4)))), Fraction(15, 100) * 260),
    *(Fraction(17 - 3, 5 - 1), math.pi * 36, math.sin(math.radians(150)), 1000 % 41),
    next(a * b for a in range(99) for b in range(a) if a + b == 31 and a - b == 9),
    *(sum(360 % k == 0 for k in range(1, 361)), math.hypot(7, 24), "x^2+3x-40", rolled()),
    *(Fraction(80) * 125 / 100 * 90 / 100, 3 * 5 + -2 * 4, math.sqrt(147) - math.sqrt(48)),
    *(f"({(-4 + 10) // 2}, {(7 + 1) // 2})", lcm(18, 24, 30)),
    ", ".join(str(Fraction(n, 2)) for n in range(-99, 99) if 2 * Fraction(n, 2) ** 2 - 7 * Fraction(n, 2) == 15),
    *(mixed_committees(), math.sqrt(21 * 8 * 7 * 6), pow(7, 2023, 10)),
    f"({min(negative) - 1}, {max(negative) + 1})",
    sum(8 + 5 * k for k in range(20)) if 8 + 9 * 5 == 53 else 0,
    *("(5+i)/(2-3i)", math.pi * 36 * math.sqrt(10**2 - 6**2) / 3, 1 / (Fraction(1, 12) + Fraction(1, 20))),
    *(digits(219, 6), power_sum(), len({w for w in permutations("BANANA") if "NN" not in "".join(w)})),
    math.sqrt(25 + 64 - 80 * math.cos(math.radians(60))),
    next(n for n in range(1, 999) if (n % 7, n % 9, n % 5) == (3, 4, 1)),
    *("3(x^2+1)-4-((3x-4)^2+1)", 2 + math.sqrt(4 + 8)),
    r"\begin{pmatrix} 2*4+1*5 & 2*(-1)+1*2 \\ 0*4+3*5 & 0*(-1)+3*2 \end{pmatrix}",
    *(red_twice(), sum(12 * (-2 / 3) ** k for k in range(200)), 8 * 8 * math.sin(math.radians(60)) * 3),
    *(pow(3, 2025, 100), sum(sum(w) == 7 for w in product((1, 2, 3), repeat=4))),
    ((5 + math.sqrt(21)) / 2) ** 5 + ((5 - math.sqrt(21)) / 2) ** 5,
    13 / (2 * math.sin(math.acos((14**2 + 15**2 - 13**2) / (2 * 14 * 15)))),
    math.prod(math.cos(math.radians(angle)) for angle in (20, 40, 80)),
    lowest(lambda x, y: x * x + 2 * y * y - 2 * x * y - 6 * y + 20),
    sum((n % 6 == 0 or n % 10 == 0) and n % 15 != 0 for n in range(1, 1001)),
    ", ".join(f"({x}, {7 - x})" for x in range(-99, 99) if x**3 + (7 - x) ** 3 == 133),
    *(Fraction(tossed(8, "HH"), 2**8), cone_height()),
    ", ".join(f"{k}\\pi/12" for k in range(24) if abs(off_balance(k * math.pi / 12)) < 1e-9),
]


def test_the_answers_of_the_competition_problems_are_right():
    made = items("math.jsonl")
    assert len(made) == len(MATH)
    for item, value in zip(made, MATH):
        if isinstance(value, float):
            verdict = verify("math", f"{value:.12f}", item.answer, tolerance=1e-9)
        else:
            verdict = verify("math", str(value), item.answer, ordered=False)
        assert verdict.success, (item.question, value, item.answer)


# AIME. By the problem's id.


def number_digits(number: int) -> list[int]:
    return list(map(int, str(number)))


def divisors(number: int) -> list[int]:
    return [k for k in range(1, number + 1) if number % k == 0]


def is_square(number: int) -> bool:
    return isqrt(number) ** 2 == number


def rising(row: list[int]) -> bool:
    return all(a < b for a, b in pairwise(row))


def over_and_under(fraction: Fraction) -> int:
    return fraction.numerator + fraction.denominator


def share(hits: Iterator[bool]) -> Fraction:
    seen = list(hits)
    return Fraction(sum(seen), len(seen))


def differences() -> Counter[int]:
    """Ways to write each number below 1000 as a difference of squares."""
    return Counter(b * b - a * a for a, b in combinations(range(1, 501), 2) if b * b - a * a < 1000)


def seated() -> int:
    """Rows of four couples, side by side, without two women side by side."""
    rows = ["".join(row) for row in product(("WM", "MW"), repeat=4)]
    return factorial(4) * sum("WW" not in row for row in rows)


def jumps(to: int) -> int:
    return 1 if to == 0 else sum(jumps(to - step) for step in (1, 2, 3) if step <= to)


def dominoes(rows: int, columns: int, taken: int = 0) -> int:
    free = next((cell for cell in range(rows * columns) if not taken >> cell & 1), None)
    if free is None:
        return 1
    beside = [free + 1] if free % columns < columns - 1 else []
    below = [free + columns] if free + columns < rows * columns else []
    return sum(
        dominoes(rows, columns, taken | 1 << free | 1 << other) for other in [*beside, *below] if not taken >> other & 1
    )


def colourings() -> int:
    cells = range(12)
    pairs = [(i, i + 1) for i in cells if i % 6 < 5] + [(i, i + 6) for i in range(6)]
    return sum(all(colours[a] != colours[b] for a, b in pairs) for colours in product(range(3), repeat=12))


def recurrence() -> int:
    terms = [1, 2]
    while len(terms) < 20:
        terms.append(terms[-1] + 2 * terms[-2])
    return sum(terms)


def floors() -> int:
    """Both floors change at multiples of a sixth only."""
    return len({2 * k // 6 + 3 * k // 6 for k in range(6 * 300)} & set(range(1, 1001)))


def standard_fillings(rows: tuple[int, ...] = (0, 0, 0)) -> int:
    if sum(rows) == 9:
        return 1
    grown = [(*rows[:i], rows[i] + 1, *rows[i + 1 :]) for i in range(3) if rows[i] < 3]
    return sum(standard_fillings(one) for one in grown if one[0] >= one[1] >= one[2])


def powers(number: int, top: int = 32) -> int:
    if number == 0 or top == 0:
        return int(number == 0)
    return sum(powers(number - k * top, top // 2) for k in range(3) if k * top <= number)


def nonzero_product(number: int) -> int:
    return prod(digit for digit in number_digits(number) if digit)


def turns() -> int:
    paths = ["".join("R" if i in right else "U" for i in range(12)) for right in combinations(range(12), 6)]
    return sum(sum(a != b for a, b in pairwise(path)) == 5 for path in paths)


AIME: dict[str, Callable[[], int]] = {
    "I-1": lambda: sum(n % 4 == 0 and n % 6 != 0 for n in range(1, 1000)),
    "II-1": lambda: sum(n for n in range(10, 100) if len(divisors(n)) == 2 and set(number_digits(n)) <= {3, 5, 7}),
    "III-1": lambda: sum(sum(number_digits(n)) == 10 for n in range(100, 1000)),
    "IV-1": lambda: sum(n for n in range(1, 101) if n % 7 == 0),
    "V-1": lambda: max(n for n in range(1000) if is_square(n) and n in {k**3 for k in range(10)}),
    "I-2": lambda: next(n for n in range(12, 10**4, 12) if len(divisors(n)) == 15),
    "II-2": lambda: len(divisors(2**5 * 3**4 * 5**2)),
    "III-2": lambda: sum(all(a != b for a, b in pairwise(w)) and w[0] != w[-1] for w in product("ABC", repeat=5)),
    "I-3": lambda: sum(n * n for n in range(201)) % 1000,
    "II-3": lambda: sum(all(b - a > 1 for a, b in pairwise(four)) for four in combinations(range(1, 13), 4)),
    "III-3": lambda: sum(isqrt(225 + b * b) for b in range(1, 300) if is_square(225 + b * b)),
    "I-4": lambda: list(differences().values()).count(1),
    "II-4": seated,
    "III-4": lambda: sum(len({x, y, 40 - x - y}) == 3 for x in range(1, 40) for y in range(1, 40 - x)),
    "I-5": lambda: sum(n for n in range(1, 1000) if is_square(n * n + 45)),
    "II-5": lambda: over_and_under(share(max(dice) == 5 for dice in product(range(1, 7), repeat=4))),
    "III-5": lambda: sum(rising(number_digits(n)) or rising(number_digits(n)[::-1]) for n in range(1000, 10_000)),
    "I-6": lambda: sum(gcd(a, b) == 1 for a, b in combinations(divisors(2**4 * 3**3 * 5**2), 2)),
    "II-6": lambda: jumps(12),
    "III-6": lambda: sum(is_square(m * n) for m, n in combinations(range(1, 61), 2)),
    "I-7": lambda: 7 ** (7**7) % 1000,
    "II-7": lambda: sum(all(x != i for i, x in enumerate(p)) and p[0] < p[1] for p in permutations(range(6))),
    "III-7": lambda: (lambda f: 10 * f.numerator + f.denominator)(
        share(
            all((b - a) % 10 not in (1, 9) for a, b in combinations(three, 2)) for three in combinations(range(10), 3)
        )
    ),
    "I-8": lambda: sum(all(sum(number_digits(k)) % 4 == 0 for k in (n, n + 1)) for n in range(1, 501)),
    "II-8": lambda: dominoes(3, 8),
    "III-8": lambda: sum(all(f[f[x]] == f[x] for x in range(5)) for f in product(range(5), repeat=5)),
    "I-9": lambda: sum((a * a + b * b) % 13 == 0 for a, b in product(range(1, 31), repeat=2)),
    "II-9": lambda: sum(a <= b <= 60 - a - b < a + b for a in range(1, 60) for b in range(1, 60 - a)),
    "III-9": lambda: recurrence() % 1000,
    "I-10": floors,
    "II-10": lambda: colourings() % 1000,
    "III-10": lambda: sum(n for n in range(1, 1000) if is_square(n * n + 20 * n + 11)),
    "I-11": lambda: sum("HHH" not in w and "TTT" not in w for w in map("".join, product("HT", repeat=10))),
    "II-11": lambda: sum(len(divisors(n)) % 2 == 1 or len(divisors(n)) % 9 == 0 for n in range(1, 1001)),
    "III-11": lambda: sum(lcm(*three) == 72 for three in product(divisors(72), repeat=3)),
    "I-12": lambda: sum(
        all(r != c for r, c in zip(rows, columns))
        for rows in combinations(range(5), 4)
        for columns in permutations(range(5), 4)
    ),
    "II-12": lambda: over_and_under(share((x * x - y * y) % 9 == 0 for x, y in product(range(1, 37), repeat=2))),
    "III-12": lambda: sum(sum(three) % 3 == 0 for three in combinations(range(1, 21), 3)),
    "I-13": turns,
    "II-13": lambda: sum(comb(k, 2) for k in range(2, 51)) % 1000,
    "III-13": lambda: sum(map(nonzero_product, range(1, 1000))) % 1000,
    "I-14": lambda: sum(all((x - i) % 7 in (0, 1, 6) for i, x in enumerate(p)) for p in permutations(range(7))),
    "II-14": lambda: 10 * standard_fillings() + 5,
    "III-14": lambda: sum(
        all(b - a != 2 for a, b in combinations(subset, 2))
        for size in range(11)
        for subset in combinations(range(1, 11), size)
    ),
    "I-15": lambda: over_and_under(1 - Fraction(tossed(10, "HHH"), 2**10)) % 1000,
    "II-15": lambda: sum(map(powers, range(1, 63))),
    "III-15": lambda: 3 * sum(sum(x == i for i, x in enumerate(p)) == 2 and p[0] != 0 for p in permutations(range(6))),
}


def test_the_answers_of_the_contest_problems_are_found_by_exhaustive_search():
    found = {record["ID"]: record["Answer"] for record in records("aime.jsonl")}
    assert found == {f"Own-{name}": search() for name, search in AIME.items()}


def test_the_worked_solutions_of_the_contest_problems_end_in_the_answer():
    for record in records("aime.jsonl"):
        assert re.findall(r"[0-9]+", record["Solution"])[-1] == str(record["Answer"]), record["ID"]


# Multiple choice: what can be calculated.
FACTS: dict[str, str] = {
    "What is 17 * 6?": str(17 * 6),
    "Which number is prime?": str(next(n for n in (97, 91, 87, 93) if len(divisors(n)) == 2)),
    "What is 3/8 as a decimal?": str(3 / 8),
    "What is the square root of 529?": str(isqrt(529)),
    "What is 2 to the power of 11?": str(2**11),
    "Which fraction is the largest?": str(max(map(Fraction, ("5/7", "2/3", "7/11", "9/14")))),
    "A shop lowers the price": f"{(80 - 68) * 100 // 80} percent",
    "A car uses 6 litres": f"{350 * 6 // 100} litres",
    "The mean of four": str(4 * 9 - 4 - 10 - 15),
    "If today is Wednesday": ("Wednesday", "Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday")[100 % 7],
    "Two angles of a triangle": f"{180 - 47 - 68} degrees",
    "A code has two different": str(len(list(permutations(range(10), 2))) * 26),
    "A byte has eight bits": str(2**8),
    "What does the expression 13 AND 6": str(13 & 6),
    "A cyclist rides": f"{18_000 // 3_600} metres",
    "Two resistors": f"{1 / (Fraction(1, 6) + Fraction(1, 6))} ohms",
    "A bank pays": f"${200 * 1.05**2:.2f}",
    "Seven children": str(sorted([2 + 2, 9 - 2, 4, 4, 11, 3, 9])[3]),
}


def test_the_right_options_are_right_where_they_can_be_calculated():
    made = items("multiple_choice.jsonl")
    for start, answer in FACTS.items():
        (item,) = [item for item in made if item.question.startswith(start)]
        assert item.options[int(item.answer)] == answer, start


def test_no_letter_is_right_more_often_than_another():
    counts = Counter(record["answer"] for record in records("multiple_choice.jsonl"))
    assert set(counts) == {0, 1, 2, 3}
    assert max(counts.values()) - min(counts.values()) <= 1
