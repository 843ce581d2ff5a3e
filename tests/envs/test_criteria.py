from __future__ import annotations

import pytest
from palaestra.envs.criteria import criteria_of_solution, find_operations


@pytest.mark.parametrize(
    ("line", "operations"),
    [
        ("34 * 2 = 68", ["34 * 2"]),
        ("-2965 - 467 = -3432", ["-2965 - 467"]),
        ("12 * 4 + 7 = 48 + 7 = 55", ["12 * 4 + 7"]),
        ("600/12=50 gaps, so 50+1=51 trees.", ["600/12", "50+1"]),
        ("It costs $6320-2000=4320.", ["6320-2000"]),
        ("1/4 + 1/2 = 3/4", ["1/4 + 1/2"]),
        ("x = 5", []),
        ("d^2 = (20 - (-12))^2 = 1024", ["(20 - (-12))^2"]),
        ("(x - (32))^2 = 12", []),
        ("17x = 34", []),
        ("no equation", []),
    ],
)
def test_operations_are_found_without_their_results(line: str, operations: list[str]):
    assert find_operations(line) == operations


def test_operations_are_named_once_and_without_the_answer():
    steps = ["34 * 2 = 68", "34 * 2 = 68", "68 - 9 = 59", "59 * 3 = 177", "177 - 118 = 59", "59"]
    named = ["34 * 2", "68 - 9", "177 - 118"]
    assert criteria_of_solution(steps) == [f"It works out {operation}." for operation in named]
    assert criteria_of_solution(["5 + 0 = 5", "5"]) == []


def test_without_operations_the_steps_are_criteria_unless_the_answer_stands_there():
    assert criteria_of_solution(["4x + 4 = -8", "4x = -12", "So x = -3.", "-3"]) == ["4x + 4 = -8", "4x = -12"]
    assert criteria_of_solution(["4"]) == []
