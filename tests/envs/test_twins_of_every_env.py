"""No held-out task is a training task in other words: the same numbers in another order, or the same board turned.

The canonical forms are found here from what the prompts say, by other means than the families'.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import palaestra  # noqa: F401  # registers the ids
import pytest

Canonical = Callable[[str], Any]


def expression(prompt: str) -> Any:
    """Signed products, each as its sorted factors and divisors; with what stands behind the expression."""
    text, rest = re.match(r"(?:What is )?(.*?)(?: = )?\?(.*)", prompt).groups()  # type: ignore[union-attr]
    modulus = ""
    if " mod " in text:
        text, modulus = text.split(" mod ")
        text = text[1:-1]
    tokens = text.split(" ")
    terms: list[tuple[str, list[str]]] = [("+", ["*" + tokens[0]])]
    for operator, operand in zip(tokens[1::2], tokens[2::2]):
        if operator in "+-":
            terms.append((operator, ["*" + operand]))
        else:
            terms[-1][1].append(operator + operand)
    return modulus, rest if "ecimal" in rest else "", str(sorted((sign, sorted(factors)) for sign, factors in terms))


def sides(prompt: str) -> Any:
    return frozenset(re.search(r"Solve (.+?)\. Answer", prompt)[1].split(" = "))  # type: ignore[index]


def equations(prompt: str) -> Any:
    return frozenset(re.search(r"system (.+?)\. Answer", prompt)[1].split("; "))  # type: ignore[index]


def inequality(prompt: str) -> Any:
    left, sign, right = re.search(r"Solve (.+?) (<=?|>=?) (.+?) for real", prompt).groups()  # type: ignore[union-attr]
    return (left, sign, right) if "<" in sign else (right, sign.replace(">", "<"), left)


def points(prompt: str) -> Any:
    kind = prompt.split("(")[0]
    found = re.findall(r"\(-?\d+, -?\d+\)", prompt)
    if "meet" in prompt:
        return kind, frozenset([frozenset(found[:2]), frozenset(found[2:])])
    return kind, frozenset(found)


def numbers(prompt: str) -> Any:
    return prompt.split(" of ")[0], tuple(sorted(map(int, re.findall(r"\d+", prompt))))


def target_and_numbers(prompt: str) -> Any:
    target, given = re.match(r"Make (\d+) from (?:the numbers )?([\d, ]+)\.", prompt).groups()  # type: ignore[union-attr]
    return target, tuple(sorted(map(int, given.split(", "))))


def clauses(prompt: str) -> Any:
    return frozenset(re.search(r"Clauses: ([-\d; ]+)\.", prompt)[1].split("; "))  # type: ignore[index]


def ends_and_roads(prompt: str) -> Any:
    start, goal = re.search(r"from (\w+) to (\w+)\.", prompt).groups()  # type: ignore[union-attr]
    return frozenset((start, goal)), prompt.split("\n")[0]


def maze(prompt: str) -> Any:
    return "\n".join(line for line in prompt.split("\n") if line.startswith("# ")).replace("G", "S")


def queens(prompt: str) -> Any:
    rows = [line for line in prompt.split("\n") if re.fullmatch(r"[.Q]+", line)]
    images = []
    for _ in range(4):
        rows = ["".join(column) for column in zip(*rows[::-1])]
        images += [rows, [row[::-1] for row in rows]]
    return min(map(tuple, images))


def factors(prompt: str) -> Any:
    return frozenset(re.findall(r"\([^()]+\)", prompt.split(" and collect")[0]))


def terms(prompt: str) -> Any:
    return frozenset(re.split(r" (?=[+-] )", "+ " + re.search(r"f\(x\) = (.+?)(?: for|\. Answer)", prompt)[1]))  # type: ignore[index]


def disks(prompt: str) -> Any:
    """Both arrangements under all names of the pegs, in both directions."""
    states = [re.findall(r"[ABC]: ([-\d ]+)", line) for line in prompt.split("\n")[1:3]]
    orders = itertools.permutations(range(3))
    images = [[[state[peg] for peg in order] for state in ends] for order in orders for ends in (states, states[::-1])]
    return str(min(images))


def slides(prompt: str) -> Any:
    """Where each place's tile belongs."""
    now, goal = (re.findall(r"_|\d+", part) for part in re.findall(r"(?:Now|Goal):\n([_\d \n]+)", prompt))
    return tuple(goal.index(tile) for tile in now)


FAMILIES: dict[str, Canonical] = {
    "Arithmetic": expression,
    "DecimalArithmetic": expression,
    "FractionArithmetic": expression,
    "ModularArithmetic": expression,
    "LinearEquation": sides,
    "LinearSystem": equations,
    "Inequality": inequality,
    "CoordinateGeometry": points,
    "GcdLcm": numbers,
    "PolynomialExpand": factors,
    "Derivative": terms,
    "Integral": terms,
    "Countdown": target_and_numbers,
    "TwentyFour": target_and_numbers,
    "Satisfiability": clauses,
    "ShortestPath": ends_and_roads,
    "Maze": maze,
    "NQueens": queens,
    "TowerOfHanoi": disks,
    "SlidingTiles": slides,
}


@pytest.mark.parametrize("family", FAMILIES)
def test_no_held_out_task_is_a_training_task_in_another_order(family: str):
    met: dict[str, set[Any]] = {}
    for split in ("train", "test"):
        env = gym.make(f"palaestra/{family}-v0", difficulty=0.0, split=split, disable_env_checker=True)
        met[split] = {FAMILIES[family](env.reset(seed=seed)[0]) for seed in range(150)}
    assert len(met["train"]) > len(met["test"]) * 0.5 > 1
    assert not met["train"] & met["test"]


@pytest.mark.parametrize(
    ("prompt", "twin"),
    [("3 + 5 * 2 - 1 = ? (integer)", "2 * 5 - 1 + 3 = ? (integer)"), ("(1/2) / (3/4) = ?", "(1/2) / (3/4) = ?")],
)
def test_commuted_expressions_have_one_canonical_form(prompt: str, twin: str):
    assert expression(prompt) == expression(twin)
    assert expression("7 - 3 = ?") != expression("3 - 7 = ?")
