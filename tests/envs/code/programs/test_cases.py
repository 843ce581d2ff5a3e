"""Cases: they fail every weaker program, differ from each other, and are small."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from palaestra.envs.code.programs.cases import draw_arguments, fails_case, is_small
from palaestra.envs.code.programs.dice import Dice
from palaestra.envs.code.programs.grammar import draw_program

from .drawn_programs import draw_programs

TYPES = {"int": int, "list": list, "str": str, "words": list}


def test_a_part_of_the_specification_left_out_shows_in_a_case():
    for program, cases in draw_programs(60, 1):
        for body in program.weaker:
            assert any(fails_case(program, body, one) for one in cases), program.source


def test_most_comparisons_are_tried_at_their_boundary():
    dice, told, known = Dice(np.random.default_rng(0)), 0, 0
    for program, cases in draw_programs(250, 9):
        others = [draw_arguments(dice, program) for _ in range(60)]
        for place, block in enumerate(program.blocks):
            for found in re.finditer(r" ([<>])(=?) ", block):
                sign = found[1] if found[2] else f"{found[1]}="
                code = f"{block[: found.start()]} {sign} {block[found.end() :]}"
                body = (*program.blocks[:place], code, *program.blocks[place + 1 :])
                here = any(fails_case(program, body, one) for one in cases)
                told += here
                known += here or any(program.run(given, body)[:2] != program.run(given)[:2] for given in others)
    assert told > 0.75 * known > 75


def test_constants_and_the_argument_itself_are_right_in_few_cases():
    for _, cases in draw_programs(90, 2):
        assert max(Counter(repr(one.value) for one in cases).values()) <= 2
        assert sum(one.value == one.arguments[0] for one in cases) <= 2


def test_cases_are_different_small_and_of_the_type_stated():
    edges = 0
    for program, cases in draw_programs(90, 3):
        assert len({repr(one.arguments) for one in cases}) == 6
        for one in cases:
            assert type(one.arguments[0]) is TYPES[program.takes]
            assert type(one.value) is TYPES[program.gives]
            assert is_small(one.value)
            for parameter, argument in zip(program.parameters[1:], one.arguments[1:]):
                assert argument in parameter.values
                assert f"from {parameter.values[0]} to {parameter.values[-1]}" in parameter.words
            edges += one.arguments[0] in (0, [], "")
    # The edges are among the cases of most programs.
    assert edges > 60


@pytest.mark.parametrize(
    ("value", "small"),
    [(10**8, True), (10**8 + 1, False), ([1, -(10**8) - 1], False), ("a" * 58, True), ("a" * 59, False), ([], True)],
)
def test_small_values_fit_in_a_line(value: object, small: bool):
    assert is_small(value) is small


def test_arguments_come_near_the_numbers_that_the_code_names():
    dice = Dice(np.random.default_rng(8))
    program = draw_program(dice, "numbers", 1)._replace(marks=(1000,))
    near = [abs(draw_arguments(dice, program)[0] - 1000) <= 1 for _ in range(300)]
    assert 20 < sum(near) < 90
