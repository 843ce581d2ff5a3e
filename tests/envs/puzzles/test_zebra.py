"""Zebra: the clues, read from the prompt, have exactly one solution; no clue is superfluous unless asked for."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import pytest
from palaestra.envs.puzzles.zebra import Zebra

Fits = Callable[[int, int], bool]
WORDS: dict[str, Fits] = {
    "is": lambda i, j: i == j,
    "is not": lambda i, j: i != j,
    "lives directly left of": lambda i, j: j == i + 1,
    "lives next to": lambda i, j: abs(i - j) == 1,
    "lives two houses away from": lambda i, j: abs(i - j) == 2,
    "lives somewhere left of": lambda i, j: i < j,
}


def read(prompt: str) -> tuple[list[list[str]], list[tuple[str, str | None, Fits]]]:
    """The values of each attribute; and the clues as (value, other value or None, test of their houses from 1)."""
    lines = prompt.split("\n")
    attributes = [re.split(", ", part.split(": ")[1]) for part in lines[1].split("; ")]
    every = {word for values in attributes for word in values}

    def value(text: str) -> str:
        (found,) = every & set(re.findall(r"\w+", text))
        return found

    clues: list[tuple[str, str | None, Fits]] = []
    for line in lines:
        if not (match := re.fullmatch(r"\d+\. (.+)\.", line)):
            continue
        sentence = match[1]
        if match := re.fullmatch(r"(.+) (lives|does not live) in house (\d)", sentence):
            house, there = int(match[3]), match[2] == "lives"
            clues.append((value(match[1]), None, lambda i, j, house=house, there=there: (i == house) == there))
            continue
        relation = max((words for words in WORDS if f" {words} " in sentence), key=len)
        first, second = sentence.split(f" {relation} ")
        clues.append((value(first), value(second), WORDS[relation]))
    return attributes, clues


def solutions(attributes: list[list[str]], clues: list[tuple[str, str | None, Fits]], limit: int = 2) -> list[Any]:
    """Attribute by attribute, all permutations; a clue is looked at as soon as both of its values have houses."""
    numbered = {word: place for place, values in enumerate(attributes) for word in values}
    ready: list[list[Any]] = [[] for _ in attributes]
    for clue in clues:
        ready[max(numbered[word] for word in clue[:2] if word)].append(clue)
    found: list[dict[str, int]] = []

    def place(index: int, houses: dict[str, int]) -> None:
        if index == len(attributes):
            found.append(houses)
            return
        values = attributes[index]
        for order in itertools.permutations(range(1, len(values) + 1)):
            here = {**houses, **dict(zip(values, order))}
            if all(fits(here[one], here[other] if other else 0) for one, other, fits in ready[index]):
                place(index + 1, here)
                if len(found) >= limit:
                    return

    place(0, {})
    return found


SIZES = [(3, 2, 30), (3, 5, 8), (4, 3, 8), (5, 2, 8), (4, 4, 3), (5, 4, 1)]


@pytest.mark.parametrize("kinds", ["direct", "varied"])
@pytest.mark.parametrize(("houses", "attributes", "seeds"), SIZES)
def test_one_solution_and_the_oracle_has_it(houses: int, attributes: int, seeds: int, kinds: str):
    env = Zebra(houses=houses, attributes=attributes, clues=kinds)
    for seed in range(seeds):
        values, clues = read(env.reset(seed=seed)[0])
        assert [len(words) for words in values] == [houses] * attributes
        (solution,) = solutions(values, clues)
        rows = [part.split() for part in env.oracle().split(", ")]
        assert {word: number for number, words in enumerate(rows, 1) for word in words} == solution


@pytest.mark.parametrize("kinds", ["direct", "varied"])
@pytest.mark.parametrize(("houses", "attributes", "seeds"), [(3, 2, 20), (4, 3, 4), (5, 2, 3), (4, 4, 1)])
def test_without_spare_clues_none_can_be_left_out(houses: int, attributes: int, seeds: int, kinds: str):
    env = Zebra(houses=houses, attributes=attributes, clues=kinds, spare=0)
    for seed in range(seeds):
        values, clues = read(env.reset(seed=seed)[0])
        for clue in clues:
            assert len(solutions(values, [other for other in clues if other is not clue])) == 2


def test_spare_clues_can_be_left_out():
    for spare in (1, 3):
        env = Zebra(houses=3, attributes=3, spare=spare)
        for seed in range(8):
            values, clues = read(env.reset(seed=seed)[0])
            without = [[other for other in clues if other is not clue] for clue in clues]
            assert sum(len(solutions(values, rest)) == 1 for rest in without) >= spare


def test_the_hardest_puzzles_stay_short_and_have_one_solution():
    env = Zebra(difficulty=1.0)
    assert max(len(Zebra(houses=5, attributes=5, clues="varied", spare=3).reset(seed=s)[0]) for s in range(40)) <= 2000
    values, clues = read(env.reset(seed=2)[0])
    assert len(values) == len(values[0]) == 5
    (solution,) = solutions(values, clues)
    assert [solution[word] for word in env.oracle().replace(",", "").split()] == [1 + n // 5 for n in range(25)]


def test_direct_clues_have_three_forms_and_varied_ones_eight():
    forms = {"direct": {"is", "lives directly left of"}, "varied": set(WORDS)}
    for kinds, expected in forms.items():
        env = Zebra(houses=5, attributes=3, clues=kinds)
        lines = [line for s in range(30) for line in env.reset(seed=s)[0].split("\n") if re.match(r"\d+\. ", line)]
        assert {max((w for w in WORDS if f" {w} " in line), key=len, default="") for line in lines} - {""} == expected
        assert any("does not live in house" in line for line in lines) == (kinds == "varied")
        assert any(" lives in house " in line for line in lines)


def test_forms_of_the_right_answer_and_answers_near_it():
    env = Zebra(houses=3, attributes=2)
    env.reset(seed=4)
    task = env.here()
    houses = [part.split() for part in env.oracle(task).split(", ")]
    (a, b), (c, d), (e, f) = houses
    for right in (f"{a} {b}, {c} {d}, {e} {f}", f"{b} {a},{c} {d},{f} {e}", f"{a.upper()} {b}, {c} {d}, {e} {f}"):
        assert env.verify(task, right).success
    for right in (
        f"1: {a} {b}, 2: {c} {d}, 3: {e} {f}",
        f"House 1: {a}, {b}; House 2: {d}, {c}; House 3: {e}, {f}",
        f"1. {a}, {b}\n2. {c}, {d}\n3. {e}, {f}\n",
        f"[{a} {b}, {c} {d}, {e} {f}]",
    ):
        assert env.verify(task, right).success, right
    near = [f"{c} {d}, {a} {b}, {e} {f}", f"{a} {d}, {c} {b}, {e} {f}", f"{a} {b}, {c} {d}, {e} {e}"]
    form = [
        f"{a} {b}, {c} {d}",
        f"{a} {b} {c} {d} {e} {f}",
        f"{a}, {c}, {e}",
        f"{a}, {b}, {c}, {d}, {e}, {f}",
        f"{a} {b}; {c} {d}, {e} {f}",
        "",
        task.prompt,
        "," * 4000,
        "x y, x y, x y",
    ]
    for text in near + form:
        verdict = env.verify(task, text)
        assert not verdict.success
        assert verdict.score == 0.0
    assert env.verify(task, near[0]).feedback == "1 of 3 houses are right."
    assert env.verify(task, form[0]).malformed


def test_steps_name_true_places_and_end_in_the_answer():
    for seed in range(6):
        env = Zebra(houses=4, attributes=3)
        values, clues = read(env.reset(seed=seed)[0])
        (solution,) = solutions(values, clues)
        *steps, answer = env.solution_steps(env.here())
        assert answer == env.oracle()
        named = []
        for step in steps:
            match = re.fullmatch(r"(?:By clue (\d+) and what is known,|Trying .*:) (.+) lives in house (\d)\.", step)
            assert match, step
            (word,) = set(solution) & set(re.findall(r"\w+", match[2]))
            assert solution[word] == int(match[3])
            assert match[1] is None or 1 <= int(match[1]) <= len(clues)
            named.append(word)
        assert sorted(named) == sorted(solution)


def test_more_houses_and_attributes_take_more_clues():
    def effort(houses: int, attributes: int) -> float:
        env = Zebra(houses=houses, attributes=attributes, clues="varied", spare=0)
        total = 0.0
        for seed in range(15):
            env.reset(seed=seed)
            total += env.solver_cost(env.here())
        return total

    assert effort(3, 3) < effort(4, 3) < effort(5, 3)
    assert effort(4, 2) < effort(4, 3) < effort(4, 5)


def test_clues_speak_of_people():
    env = Zebra(houses=4, attributes=5, clues="varied")
    clues = [line for seed in range(40) for line in env.reset(seed=seed)[0].split("\n") if re.match(r"\d+\. ", line)]
    people = r"([A-Z][a-z]+|[Tt]he (\w+ (owner|drinker|player|lover|teacher)|person who likes \w+|\w+))"
    said = r"(is|is not|lives [a-z ]+|lives|does not live)"
    assert all(re.fullmatch(rf"\d+\. {people} {said} (in house \d|{people})\.", clue) for clue in clues)
    assert any("The person who likes " in clue for clue in clues)
