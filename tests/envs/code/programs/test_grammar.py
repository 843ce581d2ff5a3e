"""Programs and their cases: Python agrees, and the cases tell a program from lesser ones."""

from __future__ import annotations

import ast
import re

import numpy as np
from palaestra.envs import sandbox
from palaestra.envs.code.programs.dice import Dice
from palaestra.envs.code.programs.grammar import DOMAINS, KINDS, draw_program, format_call

from .drawn_programs import draw_programs

TYPES = {"int": int, "list": list, "str": str, "words": list}


def test_python_returns_what_the_interpreter_says():
    programs = draw_programs(300)
    sources = [re.sub(r"^def \w+", f"def f{place}", program.source) for place, (program, _) in enumerate(programs)]
    every = "def every(given):\n    return [globals()[f'f{i}'](*arguments) for i, arguments in given]\n"
    jobs = [(place, one.arguments) for place, (_, cases) in enumerate(programs) for one in cases]
    wanted = [one.value for _, cases in programs for one in cases]
    tests = [sandbox.CallTest("every", [jobs], wanted, public=True)]
    assert len(jobs) == 1800
    judgement = sandbox.run_tests("\n".join([*sources, every]), tests)
    assert judgement.success, judgement.feedback


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
    program = next(p for p, _ in draw_programs(60, 5) if len(p.parameters) == 2)
    assert program.signature.endswith(", k)")
    assert "k is a whole number from " in program.describe_arguments()
    assert sum(bool(re.search(r"\bk\b", sentence)) for sentence in program.specification) == 1


def test_calls_are_shown_as_python_writes_them():
    program, _ = draw_programs(1)[0]
    assert format_call(program, ([1, 2], "a b")) == f"{program.name}([1, 2], 'a b')"


def test_the_trace_names_each_result_and_ends_where_the_function_does():
    early = full = 0
    for program, cases in draw_programs(150, 6):
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


def test_a_constant_of_1_is_worded_in_the_singular():
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
