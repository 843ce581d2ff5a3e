from __future__ import annotations

import math
import re
from collections import Counter

from palaestra.envs.math.prime_factors import PrimeFactors, _primes, _read_factors
from palaestra.envs.question import Task


def whole(text: str) -> int:
    assert re.fullmatch(r"[-0-9 +*()/]+", text), text
    return eval(text.replace("^", "**").replace("/", "//"))


def factorised(number: int) -> list[int]:
    found, d = [], 2
    while number > 1:
        while number % d == 0:
            found.append(d)
            number //= d
        d += 1
    return found


def test_the_primes_are_the_primes():
    assert _primes()[:6] == [2, 3, 5, 7, 11, 13]
    assert [sum(prime < end for prime in _primes()) for end in (500, 2000)] == [95, 303]


def test_numbers_are_products_of_as_many_primes_as_asked_for():
    env = PrimeFactors()
    for seed in range(100):
        prompt, info = env.reset(seed=seed)
        number = int(re.findall(r"\d+", prompt)[0])
        task = env.here()
        assert factorised(number) == task.reference
        assert len(task.reference) == info["params"]["factors"]
        assert max(task.reference) <= info["params"]["prime"]
        *steps, last, _ = env.solution_steps(task)
        for step in steps:
            left, right = step.split(" = ")
            assert whole(left) == whole(right)
        assert last == f"{max(task.reference)} is prime"
        # Neither the number, nor a product that is not complete, nor one with a 1 in it.
        first, *others = task.reference
        half = " * ".join(map(str, [first, math.prod(others)]))
        for wrong in (str(number), half, f"1 * {env.oracle(task)}", f"{env.oracle(task)} * 2", str(first)):
            assert env.verify(task, wrong).score == 0, wrong


def test_a_factorisation_counts_in_any_order_and_notation():
    env = PrimeFactors()
    task = Task("", [2, 2, 2, 3, 3, 5], data=360)
    for answer in (
        "2^3 * 3^2 * 5",
        "5*3**2*2**3",
        "2 * 2 * 2 * 3 * 3 * 5",
        "2, 2, 3, 2, 3, 5",
        "[5, 3, 3, 2, 2, 2]",
        "2 x 2^2 x 3^2 x 5",
        "360 = 2^3 * 3^2 * 5",
        r"2^{3} \cdot 3^{2} \cdot 5",
        r"$2^3 \times 3^2 \times 5$",
        "2^3 \u00d7 3^2 \u00b7 5",
        "2\u00b3 \u00d7 3\u00b2 \u00d7 5",
        "(2^3)(3^2)(5)",
        "(2^3) * (3^2) * 5",
        "2^3 * 3^2 * 5 = 360",
        "= 2^3 * 3^2 * 5",
        "**The prime factorisation is 2^3 * 3^2 * 5.**",
    ):
        assert env.verify(task, answer).success, answer
    for answer in ("2^3 * 3^2", "2^2 * 3^2 * 5", "360", "8 * 9 * 5", "2^3 * 3^2 * 5 * 7", "1 * 2^3 * 3^2 * 5"):
        assert env.verify(task, answer).score == 0, answer
        assert not env.verify(task, answer).malformed, answer
    for answer in (
        "",
        "2^3 + 3^2 + 5",
        "2^3 * * 5",
        "-2^3 * 3^2 * -5",
        "2^3 * 3^2 * 5 * 7^0",
        "72 = 2^3 * 3^2 * 5",
        "2^3 * 3^2 * 5 = 72",
        "2^9^9 * 5",
        "9**9**9",
        "2^99999999999",
        "2*" * 2000 + "2",
        "__import__('os').getpid()",
        "1" * 4000,
    ):
        assert env.verify(task, answer).malformed, answer


def test_factors_are_read_with_their_multiplicity():
    assert _read_factors("2^3 * 5, 2") == Counter({2: 4, 5: 1})
    assert _read_factors("two") is None
