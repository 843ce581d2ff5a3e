"""Programs and their cases: Python agrees, and the cases tell a program from lesser ones."""

from __future__ import annotations

import ast
import re
from collections import Counter

import numpy as np
import pytest
from palaestra.envs import sandbox
from palaestra.envs.code.programs.cases import Case, draw_arguments, draw_cases, fails_case, is_small
from palaestra.envs.code.programs.dice import Dice
from palaestra.envs.code.programs.grammar import DOMAINS, KINDS, Program, draw_program, format_call

TYPES = {"int": int, "list": list, "str": str, "words": list}


def drawn(count: int, seed: int = 0, cases: int = 6) -> list[tuple[Program, list[Case]]]:
    dice, found = Dice(np.random.default_rng(seed)), []
    while len(found) < count:
        program = draw_program(dice, tuple(DOMAINS)[len(found) % 3], 1 + len(found) % 5)
        made = draw_cases(dice, program, cases)
        if made is not None:
            found.append((program, made))
    return found


def test_python_returns_what_the_interpreter_says():
    programs = drawn(300)
    sources = [re.sub(r"^def \w+", f"def f{place}", program.source) for place, (program, _) in enumerate(programs)]
    every = "def every(given):\n    return [globals()[f'f{i}'](*arguments) for i, arguments in given]\n"
    jobs = [(place, one.arguments) for place, (_, cases) in enumerate(programs) for one in cases]
    wanted = [one.value for _, cases in programs for one in cases]
    tests = [sandbox.CallTest("every", [jobs], wanted, public=True)]
    assert len(jobs) == 1800
    judgement = sandbox.run_tests("\n".join([*sources, every]), tests)
    assert judgement.success, judgement.feedback


def test_a_part_of_the_specification_left_out_shows_in_a_case():
    for program, cases in drawn(60, 1):
        for body in program.weaker:
            assert any(fails_case(program, body, one) for one in cases), program.source


def test_most_comparisons_are_tried_at_their_boundary():
    dice, told, known = Dice(np.random.default_rng(0)), 0, 0
    for program, cases in drawn(250, 9):
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
    for _, cases in drawn(90, 2):
        assert max(Counter(repr(one.value) for one in cases).values()) <= 2
        assert sum(one.value == one.arguments[0] for one in cases) <= 2


def test_cases_are_different_small_and_of_the_type_stated():
    edges = 0
    for program, cases in drawn(90, 3):
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


def test_steps_have_as_many_sentences_as_wanted_and_use_most_kinds():
    dice = Dice(np.random.default_rng(4))
    said: set[str] = set()
    guarded = branched = two = 0
    for place in range(1500):
        program = draw_program(dice, tuple(DOMAINS)[place % 3], 1 + place % 5)
        assert len(program.specification) == 1 + place % 5 == len(program.blocks) - 1 == len(program.results)
        assert ast.unparse(ast.parse(program.source)) == program.source
        said |= {re.sub(r"-?[0-9]+|\bk\b", "#", sentence) for sentence in program.specification}
        guarded += program.results[0] == ""
        branched += any("Otherwise do this" in sentence for sentence in program.specification)
        two += len(program.parameters) == 2
    patterns = {re.sub(r"-?[0-9]+", "#", kind.words.format(c=0, d=0)) for kind in KINDS}
    assert len(patterns & said) > 120
    assert min(guarded, branched, two) > 100


def test_a_second_parameter_is_a_constant_of_the_specification():
    program = next(p for p, _ in drawn(60, 5) if len(p.parameters) == 2)
    assert program.signature.endswith(", k)")
    assert "k is a whole number from " in program.describe_arguments()
    assert sum(bool(re.search(r"\bk\b", sentence)) for sentence in program.specification) == 1


def test_calls_are_shown_as_python_writes_them():
    program, _ = drawn(1)[0]
    assert format_call(program, ([1, 2], "a b")) == f"{program.name}([1, 2], 'a b')"


def test_the_trace_names_each_result_and_ends_where_the_function_does():
    early = full = 0
    for program, cases in drawn(150, 6):
        for one in cases:
            lines = program.trace(one.arguments)
            if program.ends_early(one.arguments):
                early += 1
                assert lines == ["It returns at once."]
            else:
                full += 1
                assert lines[-1] == f"{program.results[-1]} = {one.value!r}"
                assert len(lines) == sum(map(bool, program.results))
    assert min(early, full) > 20


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


def test_one_is_told_as_one():
    dice = Dice(np.random.default_rng(7))
    said = {
        sentence for place in range(1500) for sentence in draw_program(dice, tuple(DOMAINS)[place % 3], 4).specification
    }
    assert not [one for one in said if re.search(r"\b1 (?:numbers|characters|places|words)\b", one)]
    assert {
        "Remove the first number, if there is one.",
        "Remove the last number, if there is one.",
        "Remove the first character, if there is one.",
        "Move the first character to the end.",
    } <= said
