"""Slow programs and their fast counterparts: they return the same, and the fast ones are worth having."""

from __future__ import annotations

import ast
import copy
from typing import Any

import numpy as np
import pytest
from palaestra.envs.code.counting.counted_program import CountedProgram
from palaestra.envs.code.programs.dice import Dice
from palaestra.envs.code.programs.slow_program_kinds import NUMBER, NUMBERS, TEXT, SlowProgramKind
from palaestra.envs.code.programs.slow_programs import (
    TECHNIQUES,
    SlowProgram,
    argument_size,
    draw_slow_program,
    large_arguments,
    small_arguments,
)

KINDS = [kind for kinds in TECHNIQUES.values() for kind in kinds]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=[kind.why for kind in KINDS])
PLENTY = 10_000_000


def drawn(technique: str, parts: int, count: int, seed: int = 1) -> list[SlowProgram]:
    dice = Dice(np.random.default_rng(seed))
    return [draw_slow_program(dice, technique, parts) for _ in range(count)]


def of_kind(kind: SlowProgramKind, count: int, monkeypatch: pytest.MonkeyPatch) -> list[SlowProgram]:
    monkeypatch.setitem(TECHNIQUES, "one", (kind,))
    return drawn("one", 1, count)


def native(text: str, name: str) -> Any:
    names: dict[str, Any] = {}
    exec(text, names)
    return lambda arguments: names[name](*copy.deepcopy(arguments))


def counted(text: str, name: str, arguments: list[Any]) -> tuple[Any, int]:
    return CountedProgram(text).call(name, copy.deepcopy(arguments), PLENTY)


def test_there_are_kinds_enough_of_each_technique():
    assert len(KINDS) == len(set(KINDS)) == 48
    assert all(len(kinds) == 16 for kinds in TECHNIQUES.values())
    assert {kind.takes for kind in KINDS} == {NUMBERS, TEXT, NUMBER}


@every_kind
def test_slow_and_fast_return_the_same(kind: SlowProgramKind, monkeypatch: pytest.MonkeyPatch):
    dice = Dice(np.random.default_rng(2))
    for program in of_kind(kind, 12, monkeypatch):
        slow, fast = native(program.slow, program.name), native(program.fast, program.name)
        cases = [small_arguments(dice, program, edge) for edge in (0, 1, *[-1] * 40)]
        if kind.takes == NUMBER:
            cases += [[number] for number in range(14)]
        elif kind.takes == NUMBERS and kind.base != 5:
            cases += [[[dice.between(-2, 3) for _ in range(9)]] for _ in range(20)]
            cases += [[[dice.between(-(10**6), 10**6) for _ in range(5)]] for _ in range(5)]
        for arguments in cases:
            expected = slow(arguments)
            assert type(expected) in (int, str, list)
            assert (fast(arguments), type(fast(arguments))) == (expected, type(expected)), (program.slow, arguments)


@every_kind
def test_they_are_counted_and_the_fast_one_is_worth_having(kind: SlowProgramKind, monkeypatch: pytest.MonkeyPatch):
    dice = Dice(np.random.default_rng(3))
    ratios: dict[int, list[float]] = {16: [], 32: []}
    for program in of_kind(kind, 6, monkeypatch):
        for size, found in ratios.items():
            arguments = large_arguments(dice, program, size)
            value, slow = counted(program.slow, program.name, arguments)
            same, fast = counted(program.fast, program.name, arguments)
            assert value == same == native(program.slow, program.name)(arguments)
            assert slow < 20_000
            found.append(slow / fast)
    assert min(ratios[16]) > 2.5
    assert min(ratios[32]) > 3
    # The gain grows with the size: it is one of order, not of a factor.
    assert sum(ratios[32]) > 1.15 * sum(ratios[16])


@every_kind
def test_programs_of_a_kind_differ(kind: SlowProgramKind, monkeypatch: pytest.MonkeyPatch):
    assert len({program.essence for program in of_kind(kind, 60, monkeypatch)}) >= 4


@pytest.mark.parametrize("technique", TECHNIQUES)
def test_no_mark_is_left_and_every_line_is_python(technique: str):
    for program in drawn(technique, 3, 60):
        for text in (program.slow, program.fast, *[part.why + part.instead for part in program.parts]):
            assert not any(mark in text for mark in ("$", "?(", "!(", "@"))
            assert text.isascii()
        for text in (program.slow, program.fast):
            compile(text, "program.py", "exec")
            assert max(map(len, text.split("\n"))) <= 100


@pytest.mark.parametrize("technique", TECHNIQUES)
def test_parts_do_not_get_in_each_others_way(technique: str):
    dice = Dice(np.random.default_rng(4))
    for program in drawn(technique, 3, 60):
        parameters = [part.parameter for part in program.parts]
        assert len(set(parameters)) == 3
        assert len({part.kind for part in program.parts}) == 3
        for text in (program.slow, program.fast):
            stored = {
                node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name) and node.ctx != ast.Load()
            }
            stored = {
                node.id
                for node in ast.walk(ast.parse(text))
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            }
            assert stored.isdisjoint(parameters)
        for edge in (0, 1, -1, -1):
            arguments = small_arguments(dice, program, edge)
            before = copy.deepcopy(arguments)
            slow = native(program.slow, program.name)(arguments)
            assert slow == native(program.fast, program.name)(arguments)
            assert len(slow) == 3
            assert arguments == before


def test_a_function_changes_none_of_its_arguments():
    dice = Dice(np.random.default_rng(5))
    for technique in TECHNIQUES:
        for program in drawn(technique, 1, 60):
            for text in (program.slow, program.fast):
                names: dict[str, Any] = {}
                exec(text, names)
                arguments = small_arguments(dice, program)
                before = copy.deepcopy(arguments)
                names[program.name](*arguments)
                assert arguments == before


def test_the_essence_is_the_same_under_all_names():
    found: dict[str, set[str]] = {}
    for program in drawn("containers", 1, 3000):
        found.setdefault(program.essence, set()).add(program.slow)
    assert max(map(len, found.values())) > 3
    for program in drawn("sweeps", 1, 50):
        (part,) = program.parts
        assert part.parameter not in part.essence.replace("numbers", "").split()


def test_small_arguments_have_the_edges_and_large_ones_their_size():
    dice = Dice(np.random.default_rng(6))
    for technique in TECHNIQUES:
        for program in drawn(technique, 2, 40):
            for part, empty, one, small, large in zip(
                program.parts,
                small_arguments(dice, program, 0),
                small_arguments(dice, program, 1),
                small_arguments(dice, program),
                large_arguments(dice, program, 20),
            ):
                size = argument_size(part.kind, 20)
                if part.kind.takes == NUMBER:
                    assert (empty, one) == (0, 1)
                    assert 0 <= small <= 40
                    assert size <= large <= size * 17 / 16
                else:
                    assert (len(empty), len(one), len(large)) == (0, 1, size)
                    assert 2 <= len(small) <= 6


def test_conditions_that_mostly_hold_do():
    dice = Dice(np.random.default_rng(7))
    for program in drawn("containers", 1, 200):
        (part,) = program.parts
        if part.kind.often and part.kind.takes == TEXT and "= v + " in part.slow:
            (text,) = large_arguments(dice, program, 20)
            assert len(native(program.slow, program.name)([text])) > 0.5 * len(text)
