from __future__ import annotations

import re

import pytest
from palaestra.envs.math.modular_arithmetic import ModularArithmetic


def whole(text: str) -> int:
    assert re.fullmatch(r"[-0-9 +*()/]+", text), text
    return eval(text.replace("^", "**").replace("/", "//"))


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
        match = re.match(r"What is \((.+)\) mod (\d+)\? Answer with an integer from 0 to (\d+)\.", prompt)
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
