"""KnightsKnaves: what the people say, read from the prompt, leaves exactly one possibility."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from typing import Any

import pytest
from palaestra.envs.puzzles.knights_knaves import LEVELS, KnightsKnaves


def speeches(prompt: str) -> dict[str, str]:
    said = dict(re.findall(r'([A-Z][a-z]+) says: "([^"]+)\."', prompt))
    listed = re.search(r"false\. (.+?) live there\.", prompt)
    assert listed
    assert list(said) == re.split(", | and ", listed[1])
    return said


def holds(text: str, speaker: str, world: dict[str, bool]) -> bool:
    """Whether a statement is true in a world, read from its words alone."""

    def who(word: str) -> bool:
        return world[speaker if word in ("I", "me") else word]

    def simple(clause: str) -> bool:
        match = re.fullmatch(r"(\w+) (?:is|am) a (knight|knave)", clause)
        assert match, clause
        return who(match[1]) == (match[2] == "knight")

    if match := re.fullmatch(r"The number of knights among us is (\w+)", text):
        count = sum(world.values())
        return count % 2 == (match[1] == "odd") if match[1] in ("odd", "even") else count == int(match[1])
    if match := re.fullmatch(r"If (.+), then (.+)", text):
        return not simple(match[1]) or simple(match[2])
    if match := re.fullmatch(r"(\w+) would say that (.+)", text):
        return who(match[1]) == simple(match[2])
    if match := re.fullmatch(r"At least one of (\w+) and (\w+) is a (\w+)", text):
        return (match[3] == "knight") in (who(match[1]), who(match[2]))
    if match := re.fullmatch(r"(\w+) and (\w+) are both (\w+)s", text):
        return who(match[1]) == who(match[2]) == (match[3] == "knight")
    if match := re.fullmatch(r"(\w+) and (\w+) are of (the same kind|different kinds)", text):
        return (who(match[1]) == who(match[2])) == (match[3] == "the same kind")
    return simple(text)


def worlds(said: dict[str, str]) -> list[dict[str, bool]]:
    choices = (dict(zip(said, kinds)) for kinds in itertools.product([True, False], repeat=len(said)))
    return [world for world in choices if all(holds(said[name], name, world) == world[name] for name in said)]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("people", [2, 3, 5, 8])
def test_exactly_one_possibility_and_the_oracle_names_it(level: str, people: int):
    env = KnightsKnaves(people=people, statements=level)
    for seed in range(25 if people < 8 else 8):
        said = speeches(env.reset(seed=seed)[0])
        assert len(said) == people
        (world,) = worlds(said)
        assert env.oracle() == ", ".join(name for name in said if world[name])
        assert any(world.values())


def test_each_level_brings_its_own_statements():
    forms = {"If ": 1, " would say ": 1, "The number": 2}
    for level, name in enumerate(LEVELS):
        env = KnightsKnaves(people=5, statements=name)
        text = " ".join(" ".join(speeches(env.reset(seed=seed)[0]).values()) for seed in range(40))
        assert {form for form in forms if form in text} == {form for form, least in forms.items() if least <= level}


def test_nobody_says_that_there_are_no_knights_at_all():
    env = KnightsKnaves(people=4, statements="counting")
    counts = Counter(re.findall(r"among us is (\d)", " ".join(env.reset(seed=seed)[0] for seed in range(150))))
    assert set(counts) == set("1234")


def test_what_can_be_said_depends_on_those_in_its_scope_alone():
    for level in LEVELS:
        env = KnightsKnaves(people=4, statements=level)
        for seed in range(20):
            env.reset(seed=seed)
            for allowed, scope in env.here().data[1]:
                for choice, person in itertools.product(range(16), range(4)):
                    if not scope >> person & 1:
                        assert allowed >> choice & 1 == allowed >> (choice ^ 1 << person) & 1


def test_answers_for_two_people_are_equally_likely():
    env = KnightsKnaves(people=2, split="all")
    counts: Counter[tuple[int, ...]] = Counter()
    for seed in range(400):
        said = speeches(env.reset(seed=seed)[0])
        counts[tuple(list(said).index(name) for name in env.oracle().split(", "))] += 1
    assert set(counts) == {(0,), (1,), (0, 1)}
    assert max(counts.values()) / 400 < 0.34 + 0.06


def test_forms_of_the_right_answer_and_answers_near_it():
    env = KnightsKnaves(people=5, statements="conditional")
    seed = next(s for s in range(50) if env.reset(seed=s) and len(env.oracle().split(", ")) == 2)
    prompt, _ = env.reset(seed=seed)
    task = env.here()
    one, two = env.oracle(task).split(", ")
    knaves = [name for name in speeches(prompt) if name not in (one, two)]
    for right in (f"{two}, {one}", f"{one},{two}", f"[{one}, {two}]", f"{one.lower()}, {two}", f"{one} and {two}"):
        assert env.verify(task, right).success
    assert env.verify(task, f"The knights are {one} and {two}.").success
    wrong = [one, f"{one}, {one}", f"{one}, {two}, {two}", f"{one}, {two}, {knaves[0]}", ", ".join(speeches(prompt))]
    for text in [*wrong, ", ".join(knaves), "none", "all", "", prompt, "Ann," * 1000, f"not {one}, {two}"]:
        verdict = env.verify(task, text)
        assert not verdict.success
        assert verdict.score == 0.0
    for text in ["none", "all", "", f"not {one}, {two}", f"{one}, {two}, {two}", f"{one} is a knave", "x" * 4000]:
        verdict = env.verify(task, text)
        assert verdict.malformed
        assert "names of people" in verdict.feedback
    assert not env.verify(task, one).malformed


@pytest.mark.parametrize("level", LEVELS)
def test_each_step_is_true_and_follows_as_it_says(level: str):
    env = KnightsKnaves(people=5, statements=level)
    for seed in range(12):
        said = speeches(env.reset(seed=seed)[0])
        (truth,) = worlds(said)
        known: dict[str, bool] = {}
        *steps, answer = env.solution_steps(env.here())
        assert answer == env.oracle()
        for step in steps:
            match: Any = re.fullmatch(r"(?:By what (\w+) says.*|Trying .*) (\w+) is a (knight|knave)\.", step)
            assert match, step
            speaker, person, kind = match.groups()
            assert truth[person] == (kind == "knight")
            if speaker:
                choices = (dict(zip(said, kinds)) for kinds in itertools.product([True, False], repeat=5))
                fitting = [w for w in choices if known.items() <= w.items()]
                fitting = [w for w in fitting if holds(said[speaker], speaker, w) == w[speaker]]
                assert {w[person] for w in fitting} == {truth[person]}
            known[person] = truth[person]
        assert known == truth


def test_more_people_and_richer_statements_take_a_search_longer():
    def effort(people: int, statements: str) -> float:
        env = KnightsKnaves(people=people, statements=statements)
        total = 0.0
        for seed in range(40):
            env.reset(seed=seed)
            total += env.solver_cost(env.here())
        return total

    assert effort(3, "conditional") < effort(5, "conditional") < effort(7, "conditional")
    assert effort(6, "simple") < effort(6, "counting")
