"""Residues, divisors, bases and primes, checked by search instead of by formula."""

from __future__ import annotations

import math
import re
from collections import Counter

import pytest
from palaestra.envs.math.base_conversion import BaseConversion, _to_base
from palaestra.envs.math.gcd_lcm import GcdLcm
from palaestra.envs.math.modular_arithmetic import ModularArithmetic
from palaestra.envs.math.prime_factors import PrimeFactors, _primes, _read_factors
from palaestra.envs.question import Task


def whole(text: str) -> int:
    assert re.fullmatch(r"[-0-9 +*()/]+", text), text
    return eval(text.replace("^", "**").replace("/", "//"))


# ModularArithmetic


def residue(expression: str, n: int) -> int:
    """Powers by repeated multiplication and inverses by search, on text that is vetted first."""

    def power(found: re.Match[str]) -> str:
        product = 1
        for _ in range(int(found[2])):
            product = product * int(found[1]) % n
        return str(product)

    def inverse(found: re.Match[str]) -> str:
        (only,) = (b for b in range(1, n) if int(found[1]) * b % n == 1)
        return str(only)

    expression = re.sub(r"(\d+)\^(\d+)", power, re.sub(r"inv\((\d+)\)", inverse, expression))
    return whole(expression) % n


@pytest.mark.parametrize("operations", ["sums", "products", "inverses", "powers"])
def test_residues_are_right_and_in_range(operations: str):
    env = ModularArithmetic(operations=operations)
    marks = {"sums": "[-+]", "products": r"\*", "powers": r"\^", "inverses": "inv"}
    for seed in range(50):
        prompt, info = env.reset(seed=seed)
        match = re.match(r"\((.+)\) mod (\d+) = \? Answer with an integer from 0 to (\d+)\.", prompt)
        assert match, prompt
        n = int(match[2])
        assert int(match[3]) == n - 1
        assert info["params"]["modulus"] / 2 < n <= info["params"]["modulus"]
        assert re.search(marks[operations], match[1])
        inverses = f"inv(a) is the number from 1 to {n - 1} with a * inv(a) = 1 modulo {n}."
        assert prompt.endswith(inverses if "inv" in match[1] else match[0])
        assert int(env.oracle()) == residue(match[1], n)
        assert 1 < int(env.oracle()) < n
        assert len(re.split(r" [-+*] ", match[1])) == info["params"]["terms"]
        if operations in ("sums", "products"):
            assert whole(match[1]) != int(env.oracle())


def test_the_steps_of_a_residue_are_true():
    env = ModularArithmetic(operations="powers")
    seen = set()
    for seed in range(60):
        env.reset(seed=seed)
        n = env.here().data[2]
        *steps, _ = env.solution_steps(env.here())
        for step in steps:
            modular = step.endswith(f" (mod {n})")
            sides = step.removesuffix(f" (mod {n})").split(" = ")
            if step.startswith("inv"):
                seen.add("inverse")
                found = re.fullmatch(r"inv\((\d+)\) = (\d+), as \1 \* \2 = (\d+) \* (\d+) \+ 1", step)
                assert found, step
                assert int(found[1]) * int(found[2]) == int(found[3]) * n + 1
            elif modular:
                seen.add("power" if "^" in step else "operation")
                assert len({residue(side, n) for side in sides}) == 1
            else:
                assert len({whole(side) for side in sides}) == 1
    assert seen == {"power", "inverse", "operation"}


def test_another_number_of_the_same_residue_is_not_the_answer():
    env = ModularArithmetic(operations="sums")
    env.reset(seed=1)
    task = env.here()
    n = task.data[2]
    assert env.verify(task, str(task.reference)).success
    for right in ("+0{}", "{} (mod {})", "{} mod {}", r"$x \equiv {} \pmod{{{}}}$", "The answer is {}.", "x = {}"):
        assert env.verify(task, right.format(task.reference, n)).success, right
    assert env.verify(task, f"{task.reference} (mod {n + 1})").malformed
    assert env.verify(task, f"(mod {n})").malformed
    for wrong in (str(task.reference + n), str(task.reference - n), str(task.reference + 1), task.prompt[:20], "9**9"):
        assert env.verify(task, wrong).score == 0, wrong


# GcdLcm


@pytest.mark.parametrize("ask", ["gcd", "lcm"])
def test_divisors_and_multiples_hold_by_trial(ask: str):
    env = GcdLcm(ask=ask, axes={"largest": [600, 3000]})
    for seed in range(40):
        prompt, info = env.reset(seed=seed)
        given, answer = list(map(int, re.findall(r"\d+", prompt))), int(env.oracle())
        assert len(set(given)) == len(given) == info["params"]["count"]
        assert max(given) <= info["params"]["largest"]
        assert answer not in given
        if ask == "gcd":
            assert answer >= 11
            assert [d for d in range(1, max(given) + 1) if not any(n % d for n in given)][-1] == answer
        else:
            smallest = next(m for m in range(max(given), answer + 1, max(given)) if not any(m % n for n in given))
            assert smallest == answer
        name = {"gcd": "greatest common divisor", "lcm": "least common multiple"}[ask]
        assert name in prompt


def test_the_steps_of_euclid_are_true():
    env = GcdLcm()
    for seed in range(60):
        env.reset(seed=seed)
        *steps, answer = env.solution_steps(env.here())
        for step in steps:
            if found := re.fullmatch(r"gcd\((\d+), (\d+)\) = (\d+)", step):
                assert math.gcd(int(found[1]), int(found[2])) == int(found[3])
            elif found := re.fullmatch(r"lcm\((\d+), (\d+)\) = (\d+ / \d+ \* \d+) = (\d+)", step):
                assert math.lcm(int(found[1]), int(found[2])) == int(found[4]) == whole(found[3])
            else:
                left, right = step.split(" = ")
                assert whole(left) == whole(right)
        assert steps[-1].endswith(f" = {answer}")


# BaseConversion


@pytest.mark.parametrize("direction", ["to ten", "from ten", "between"])
def test_both_ways_of_writing_a_number_agree_by_pythons_own_reading(direction: str):
    env = BaseConversion(direction=direction)
    for seed in range(100):
        prompt, info = env.reset(seed=seed)
        match = re.match(r"Write the base (\d+) number (\w+) in base (\d+)\.", prompt)
        assert match, prompt
        source, target = int(match[1]), int(match[3])
        assert int(match[2], source) == int(env.oracle(), target)
        assert info["params"]["largest"] <= 10 * int(match[2], source) + 9
        assert int(match[2], source) <= info["params"]["largest"]
        assert source != target
        assert (target == 10, source == 10) == (direction == "to ten", direction == "from ten")
        assert 2 <= min(source, target) < max(source, target) <= 16
        *steps, answer = env.solution_steps(env.here())
        for step in steps:
            left, right = re.sub(r" \(digit .\)", "", step).split(" = ")
            assert whole(left) == whole(right)
        # Horner's rule for all digits but the first; then all digits of the answer, the last one first.
        horner = len(match[2]) - 1 if source != 10 else 0
        ends = [re.search(r"\+ ([0-9]|1[0-5] \(digit (.)\))$", step) for step in steps[horner:]]
        found = "".join(end[2] or end[1] for end in ends if end)
        assert found[::-1] == (answer if target != 10 else "")


def test_digits_of_either_case_count_and_prefixes_of_the_base():
    env = BaseConversion()
    task = Task("", "2D", data=(45, 2, 16))
    for answer in (
        *(
            "2D",
            "2d",
            " 2D ",
            "002D",
            "2D_16",
            "2D_{16}",
            "(2D)_{16}",
            r"$\text{2D}_{16}$",
            "2D (base 16)",
            "2D in base 16",
        ),
        *("45 = 2D", "101101_2 = 2D_{16}", "**2D**.", "The number is 2D."),
    ):
        assert env.verify(task, answer).success, answer
    for answer in ("45", "D2", "2E", "2"):
        assert env.verify(task, answer).score == 0, answer
        assert not env.verify(task, answer).malformed
    for answer in (
        "0o2D",
        "2DH",
        "-2D",
        "2 D",
        "2G",
        "",
        "2D_10",
        "2D (base 2)",
        "2D_",
        "101101 base 2",
        "F" * 4000,
        "\u0662",
    ):
        assert env.verify(task, answer).malformed, answer
    for answer in ("0x2D", "0X2d", "0x002D (base 16)"):
        assert env.verify(task, answer).success, answer
    for base, digits, name in ((2, "101101", "0b101101"), (8, "55", "0o55")):
        assert env.verify(Task("", digits, data=(45, 10, base)), name).success
        assert not env.verify(Task("", digits, data=(45, 10, base)), "0x2D").success
    assert not env.verify(Task("", "45", data=(45, 2, 10)), "0x2D").success
    binary = Task("", "101", data=(5, 10, 2))
    assert env.verify(binary, "102").malformed
    assert "0 to 1 only" in env.verify(binary, "5").feedback
    assert env.verify(binary, "101").success


@pytest.mark.parametrize(("number", "base", "text"), [(255, 16, "FF"), (5, 2, "101"), (16, 16, "10"), (95, 10, "95")])
def test_numbers_are_written_in_a_base(number: int, base: int, text: str):
    assert _to_base(number, base) == text


# PrimeFactors


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
