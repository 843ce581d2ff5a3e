from __future__ import annotations

import re

import pytest
from palaestra.envs.math.base_conversion import BaseConversion, _to_base
from palaestra.envs.question import Task


def whole(text: str) -> int:
    assert re.fullmatch(r"[-0-9 +*()/]+", text), text
    return eval(text.replace("^", "**").replace("/", "//"))


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
