"""Counts, checked by listing: every question is read as a stranger would read it, and its ways are tried one by one."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator

import numpy as np
import pytest
from palaestra.envs.math import counting
from palaestra.envs.math.counting import Counting


def questions(kind: str, size: int, conditions: int, number: int) -> Iterator[counting.Counted]:
    rng = np.random.default_rng([size, conditions])
    while number:
        counted = getattr(counting, kind)(size, conditions, iter(rng.random(24).tolist()))
        if counted is not None:
            number -= 1
            yield counted


def seatings(question: str) -> int:
    chairs = int(re.search(r"on (\d+) chairs", question)[1])  # type: ignore[index]
    names = re.findall(r"[A-Z][a-z]+", question.split("people, ")[1].split(", sit")[0])
    asked = question.split("so that ")[1]
    together = re.findall(r"([A-Z]\w+) and ([A-Z]\w+) sit on n", asked)
    apart = re.findall(r"([A-Z]\w+) and ([A-Z]\w+) do not", asked)
    ordered = re.findall(r"([A-Z]\w+) sits somewhere to the left of ([A-Z]\w+)", asked)
    count = 0
    for places in itertools.permutations(range(chairs), len(names)):
        at = dict(zip(names, places))
        count += (
            all(abs(at[a] - at[b]) == 1 for a, b in together)
            and all(abs(at[a] - at[b]) > 1 for a, b in apart)
            and all(at[a] < at[b] for a, b in ordered)
        )
    return count


def words(question: str) -> int:
    letters = re.search(r"letters ([A-Z](?: [A-Z])*) be", question)[1].split()  # type: ignore[index]
    first = re.search(r"first letter is (\w)", question)
    block = re.search(r"all letters (\w) stand next", question)
    apart = re.search(r"no two letters (\w) stand", question)
    count = 0
    for word in map("".join, set(itertools.permutations(letters))):
        count += (
            (not first or word[0] == first[1])
            and (not block or block[1] * letters.count(block[1]) in word)
            and (not apart or apart[1] * 2 not in word)
        )
    return count


def committees(question: str) -> int:
    have = re.findall(r"(\d+) (teachers|parents|pupils)", question.split(", all")[0])
    people = [name for number, name in have for _ in range(int(number))]
    members = int(re.search(r"people, (\d+) are chosen", question)[1])  # type: ignore[index]
    bounds = re.findall(r"(at least|at most|exactly) (\d+) of them (\w+)", question)
    count = 0
    for chosen in itertools.combinations(people, members):
        count += all(
            {"at least": chosen.count(name) >= int(n), "at most": chosen.count(name) <= int(n)}.get(
                how, chosen.count(name) == int(n)
            )
            for how, n, name in bounds
        )
    return count


def walks(question: str) -> int:
    width, height = map(int, re.search(r"to \((\d+), (\d+)\) in", question).groups())  # type: ignore[union-attr]
    asked = question.split("such paths ")[1]
    through = re.search(r"(?<!not )pass through (.*?)(?: and do not|\?)", asked)
    past = re.search(r"do not pass through (.*)\?", asked)

    def points(found: re.Match[str] | None) -> set[tuple[int, ...]]:
        return {(int(x), int(y)) for x, y in re.findall(r"\((\d+), (\d+)\)", found[1])} if found else set()

    count = 0
    for ups in itertools.combinations(range(width + height), height):
        x, y, met = 0, 0, {(0, 0)}
        for step in range(width + height):
            x, y = (x, y + 1) if step in ups else (x + 1, y)
            met.add((x, y))
        count += points(through) <= met and not points(past) & met
    return count


@pytest.mark.parametrize("conditions", [1, 2, 3])
@pytest.mark.parametrize(
    ("kind", "size", "listed"),
    [("_chairs", 5, seatings), ("_letters", 5, words), ("_committee", 5, committees), ("_paths", 5, walks)],
)
def test_counts_agree_with_listing(kind: str, size: int, listed, conditions: int):
    seen = set()
    for question, count, steps, numbers in questions(kind, size, conditions, 12):
        chairs = re.search(r"on (\d+) chairs", question)
        if chairs and int(chairs[1]) > 8:
            continue
        assert listed(question) == count, question
        assert str(count) in steps[-1]
        seen.add(str(numbers))
    assert len(seen) >= 3


def test_every_condition_changes_the_count():
    for question, count, _, (width, height, through, past) in questions("_paths", 8, 3, 40):
        points = {**dict.fromkeys(through, True), **dict.fromkeys(past, False)}
        assert len(points) == 3
        for left_out in points:
            kept = {point: points[point] for point in points if point != left_out}
            assert counting._count_ways(width, height, kept)[-1][-1] != count, question
    for question, count, _, (sizes, members, _, _) in questions("_committee", 8, 1, 40):
        assert 0 < count < math.comb(sum(sizes), members), question


PHRASES = (
    *("sit on neighbouring", "do not sit on", "to the left of", "first letter is", "stand next to one another"),
    *("no two letters", "at least", "at most", "exactly", "paths pass through", "do not pass through"),
)


def test_all_four_kinds_and_all_conditions_come():
    met = set()
    for conditions in (1, 2, 3):
        env = Counting(conditions=conditions)
        kinds = {"chairs": 0, "letters": 0, "chosen": 0, "paths": 0}
        for seed in range(120):
            prompt, _ = env.reset(seed=seed)
            (kind,) = (kind for kind in kinds if f" {kind}" in prompt)
            kinds[kind] += 1
            met |= {phrase for phrase in PHRASES if phrase in prompt}
            assert int(env.oracle()) >= 100
        assert min(kinds.values()) >= 15
    assert met == set(PHRASES)


def statement(text: str) -> int:
    """C(n, k), n! and powers by Python, on text that is vetted first."""
    assert re.fullmatch(r"[0-9C(), !^*/+-]+", text), text
    text = re.sub(r"C\((\d+), (\d+)\)", lambda m: str(math.comb(int(m[1]), int(m[2]))), text)
    text = re.sub(r"(\d+)!", lambda m: str(math.factorial(int(m[1]))), text)
    return eval(text.replace("^", "**").replace("/", "//"))


def test_every_equation_in_a_solution_is_true():
    env = Counting()
    equations = 0
    for seed in range(200):
        env.reset(seed=seed)
        *steps, answer = env.solution_steps(env.here())
        for step in steps:
            assert "1 pairs" not in step
            if " = " in step:
                left, right = step.split(": ")[-1].split(" = ")
                assert statement(left) == int(right), step
                equations += 1
        assert re.search(rf"\b{answer}$", steps[-1])
    assert equations > 300


def test_rows_of_ways_are_those_of_pascals_triangle_where_nothing_is_barred():
    assert counting._count_ways(2, 2, {}) == [[1, 1, 1], [1, 2, 3], [1, 3, 6]]
    assert counting._count_ways(2, 2, {(1, 1): False}) == [[1, 1, 1], [1, 0, 1], [1, 1, 2]]
    assert counting._count_ways(2, 2, {(1, 1): True})[-1][-1] == 4
    assert counting._count_ways(2, 1, {(1, 0): False}) == [[1, 0, 0], [1, 1, 1]]


def test_the_count_may_be_a_number_of_what_is_counted():
    env = Counting(conditions=1, size=7)
    counted = {"chairs": "ways", "letters": "orders", "chosen": "choices", "paths": "paths"}
    met = set()
    for seed in range(30):
        prompt, _ = env.reset(seed=seed)
        task = env.here()
        name = next(name for kind, name in counted.items() if f" {kind}" in prompt)
        met.add(name)
        for right in (f"{task.reference} {name}", f"**{task.reference} {name}.**", f"7! / 2 = {task.reference}"):
            assert env.verify(task, right).success, (prompt, right)
        for wrong in (
            f"{task.reference + 1} {name}",
            f"{task.reference} people",
            f"{task.reference} {name} 2",
            "7! / 2",
        ):
            assert env.verify(task, wrong).score == 0, wrong
        assert env.verify(task, f"{task.reference} cats").malformed
    assert met == set(counted.values())
