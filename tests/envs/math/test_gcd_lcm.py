from __future__ import annotations

import math
import re

import pytest
from palaestra.envs.math.gcd_lcm import GcdLcm


def whole(text: str) -> int:
    assert re.fullmatch(r"[-0-9 +*()/]+", text), text
    return eval(text.replace("^", "**").replace("/", "//"))


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
