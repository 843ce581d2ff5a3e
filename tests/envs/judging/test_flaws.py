"""Planted flaws: what is called wrong is wrong, and nothing before it is."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from palaestra.envs.judging.flaws import (
    ANY_FAMILY,
    FLAWS,
    SolvedTask,
    Worked,
    carry_on,
    draw_flaw,
    replace_numbers,
    write_number,
)
from palaestra.envs.judging.judging import FAMILIES
from palaestra.rewards.answers.equalities import equality_holds

CONSISTENT = ("wrong operator", "misread number")


def sources(name: str, count: int = 12, level: float = 0.5) -> list[tuple[SolvedTask, np.random.Generator]]:
    family: Any = gym.make(name, disable_env_checker=True).unwrapped
    params = family.param_space.at(level)
    drawn = [np.random.default_rng(seed) for seed in range(count)]
    return [(SolvedTask(family, family.generate(rng, params), params), rng) for rng in drawn]


def test_later_lines_are_computed_with_the_wrong_result():
    steps = ("5 * 4 = 20", "20 - 1 = 19")
    assert carry_on(steps, "19", {Fraction(5): Fraction(6)}, Fraction(6)) == Worked(("6 * 4 = 24", "24 - 1 = 23"), "23")
    assert carry_on(steps, "7, 9", {Fraction(5): Fraction(6)}, Fraction(6)) is None
    assert carry_on(("5 * 0 = 0",), "0", {Fraction(5): Fraction(6)}, Fraction(6)) is None


@pytest.mark.parametrize(
    ("side", "old", "new", "text"),
    [
        ("-750 + (-137)", -137, 5, "-750 + 5"),
        ("-750 + (-137)", -750, 3, "3 + (-137)"),
        ("4 - 137", 137, -6, "4 - (-6)"),
        ("34x - 13", 13, 31, "34x - 31"),
        ("1.5 * 15", 15, 51, "1.5 * 51"),
    ],
)
def test_a_number_is_replaced_with_its_sign(side: str, old: int, new: int, text: str):
    assert replace_numbers(side, {Fraction(old): Fraction(new)}) == text


def test_numbers_are_written_whole_or_as_short_decimals():
    assert [write_number(Fraction(n)) for n in ("-7", "1/4", "-1/20", "1/3")] == ["-7", "0.25", "-0.05", None]


@pytest.mark.parametrize("error", sorted(FLAWS))
@pytest.mark.parametrize("name", FAMILIES)
def test_the_named_line_is_wrong_and_the_lines_before_it_are_those_of_the_right_solution(name: str, error: str):
    kinds = set()
    for source, rng in sources(name, 25):
        flaw = draw_flaw(source, rng, error)
        if flaw is None:
            continue
        kinds.add(flaw.kind)
        worked, spoilt = source.worked, flaw.solution
        assert spoilt != worked
        assert source.refuses(spoilt.answer) is not flaw.kind.startswith("right answer")
        if flaw.kind == "another question":
            continue
        assert flaw.place == ("answer" if flaw.line == len(spoilt.steps) else f"line {flaw.line + 1}")
        kept = min(flaw.line, len(worked.steps))
        assert spoilt.steps[:kept] == worked.steps[:kept]
        if flaw.kind in CONSISTENT:
            assert all(equality_holds(step) is True for step in spoilt.steps)
        elif flaw.line < min(len(worked.steps), len(spoilt.steps)):
            assert equality_holds(spoilt.steps[flaw.line], x=source.x) is False
            wrong = [step for step in spoilt.steps if equality_holds(step, x=source.x) is False]
            assert source.family.param_space.names[0] == "size" or wrong == [spoilt.steps[flaw.line]]
    assert len(kinds) >= 2
    assert kinds <= {*FLAWS[error], *ANY_FAMILY}


def test_every_kind_of_flaw_occurs():
    found = {
        flaw.kind
        for name in FAMILIES
        for source, rng in sources(name, 60)
        for error in FLAWS
        if (flaw := draw_flaw(source, rng, error)) is not None
    }
    assert found == {kind for kinds in FLAWS.values() for kind in kinds}


@pytest.mark.parametrize("name", ["KnightsKnaves", "LinearSystem", "Zebra", "ShortestPath"])
def test_a_solution_without_equations_is_spoilt_by_its_answer_or_by_another_one(name: str):
    found = [draw_flaw(source, rng, "subtle") for source, rng in sources(f"palaestra/{name}-v0", 6)]
    assert any(found)
    assert {flaw.kind for flaw in found if flaw} <= set(ANY_FAMILY)
