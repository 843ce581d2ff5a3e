"""Sequences: the one continuation, searched for over all constants of all stated rules."""

from __future__ import annotations

import re

import pytest
from palaestra.envs.math.sequences import Sequences, continue_sequence

RULES = ("add", "woven", "affine", "growing", "mixed")
PHRASES = ("previous one plus c", "odd places", "plus d", "grows by c", "before that")


def follow(rule: str, start: list[int], c: int, d: int, length: int) -> list[int]:
    """A second reading of the rules, straight from the words of the prompt."""
    t = start[:2]
    while len(t) < length:
        place = len(t) + 1
        if rule == "add":
            t.append(t[-1] + c)
        elif rule == "woven":
            t.append(t[-2] + (c if place % 2 == 1 else d))
        elif rule == "affine":
            t.append(c * t[-1] + d)
        elif rule == "growing":
            t.append(t[-1] + (t[-1] - t[-2]) + c)
        else:
            t.append(c * t[-1] + d * t[-2])
    return t


def candidates(rule: str, t: list[int]) -> list[tuple[int, int]]:
    """All constants within wide bounds that can lead through the first terms."""
    many = range(-500, 501)
    if rule in ("add", "growing"):
        return [(c, 0) for c in many]
    if rule == "woven":
        return [(c, t[3] - t[1]) for c in many]
    if rule == "affine":
        return [(c, t[1] - c * t[0]) for c in many]
    if t[0]:
        return [(c, (t[2] - c * t[1]) // t[0]) for c in many if (t[2] - c * t[1]) % t[0] == 0]
    return [(t[2] // t[1], d) for d in many if t[1] and t[2] % t[1] == 0]


def continuations(rule: str, shown: list[int], length: int) -> set[int]:
    found = set()
    for c, d in candidates(rule, shown):
        # Four terms first, as the bounds hold many constants.
        if follow(rule, shown, c, d, 4) == shown[:4]:
            t = follow(rule, shown, c, d, length)
            # "add" and "affine" say what the second term is, too.
            second = {"add": shown[0] + c, "affine": c * shown[0] + d}.get(rule, shown[1])
            if t[: len(shown)] == shown and second == shown[1]:
                found.add(t[-1])
    return found


@pytest.mark.parametrize("level", range(5))
def test_all_stated_rules_that_fit_lead_to_the_same_term(level: int):
    env = Sequences(rules=RULES[level], axes={"size": [20, 100]})
    for seed in range(30):
        prompt, info = env.reset(seed=seed)
        shown = [int(n) for n in re.findall(r"-?\d+", prompt.split(". ")[0])]
        assert len(shown) == 6
        assert all((phrase in prompt) == (i <= level) for i, phrase in enumerate(PHRASES) if i != 2), prompt
        length = 6 + info["params"]["ahead"]
        assert f"term number {length}" in prompt or ("the next term" in prompt and length == 7)
        found = set().union(*(continuations(rule, shown, length) for rule in RULES[: level + 1]))
        assert found == {int(env.oracle())}, prompt


def test_no_term_that_is_shown_is_the_answer():
    # Multiplied by 1 and -1, all sequences come back to their terms after six places.
    env = Sequences(rules="mixed", ahead=5)
    for seed in range(150):
        prompt, _ = env.reset(seed=seed)
        assert env.oracle() not in re.findall(r"-?\d+", prompt.split(". ")[0])


def test_half_of_the_tasks_follow_the_hardest_rule_and_no_easier_one():
    env = Sequences(rules="mixed", size=100)
    hard = 0
    for seed in range(60):
        prompt, _ = env.reset(seed=seed)
        shown = [int(n) for n in re.findall(r"-?\d+", prompt.split(". ")[0])]
        fitting = [rule for rule in RULES if continuations(rule, shown, 7)]
        assert env.here().data[0] == fitting[0]
        hard += fitting == ["mixed"]
    assert 20 <= hard <= 45


@pytest.mark.parametrize(
    ("rule", "shown", "later"),
    [
        ("add", [3, 7, 11, 15, 19, 23], [27, 31]),
        ("add", [3, 7, 11, 15, 19, 24], []),
        ("woven", [1, 10, 3, 9, 5, 8], [7, 7]),
        ("affine", [1, 3, 7, 15, 31, 63], [127, 255]),
        ("affine", [1, 3, 6, 10, 15, 21], []),
        ("growing", [1, 3, 6, 10, 15, 21], [28, 36]),
        ("mixed", [1, 2, 3, 5, 8, 13], [21, 34]),
        ("mixed", [3, 6, 12, 24, 48, 96], [192, 384]),
        ("mixed", [64, 96, 144, 216, 324, 486], []),
        ("mixed", [0, 1, 1, 2, 3, 5], [8, 13]),
    ],
)
def test_a_sequence_goes_on_by_a_rule_or_does_not_follow_it(rule: str, shown: list[int], later: list[int]):
    assert continue_sequence(rule, shown, 2) == later


def test_every_step_of_a_solution_is_true_and_each_later_term_is_reached():
    env = Sequences()
    for seed in range(150):
        _, info = env.reset(seed=seed)
        *steps, answer = env.solution_steps(env.here())
        for step in steps:
            assert re.fullmatch(r"[-0-9 +*/()=]+", step), step
            assert len({eval(side) for side in step.split(" = ")}) == 1, step
        assert steps[-1].endswith(f" = {answer}")
        assert len(steps) > info["params"]["ahead"]


def test_only_the_term_itself_counts():
    env = Sequences(difficulty=0.0)
    env.reset(seed=3)
    task = env.here()
    assert env.verify(task, f" {task.reference} ").success
    last = task.data[1][-2]
    for wrong in (
        str(task.reference + 1),
        str(last),
        f"{last}, {task.reference}",
        f"{task.reference}.0",
        "9**9**9",
        "",
    ):
        assert env.verify(task, wrong).score == 0
