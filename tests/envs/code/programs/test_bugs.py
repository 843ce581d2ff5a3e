"""Programs with bugs: every bug counts, and the first cases show them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from palaestra.envs.code.programs import bugs as drawing
from palaestra.envs.code.programs.bugs import Bug, BuggyProgram, draw_buggy
from palaestra.envs.code.programs.cases import ProgramCase
from palaestra.envs.code.programs.dice import Dice
from palaestra.envs.code.programs.grammar import Parameter, Program
from palaestra.envs.code.programs.mutations import KINDS, apply_mutation, find_sites

DOMAINS = ("numbers", "strings", "lists")


def drawn(count: int, seed: int = 0) -> list[BuggyProgram]:
    dice = Dice(np.random.default_rng(seed))
    return [draw_buggy(dice, DOMAINS[i % 3], max(1 + i % 3, 1 + i % 5), 8, 1 + i % 3) for i in range(count)]


def fails(buggy: BuggyProgram, bugs: tuple[Bug, ...], case: ProgramCase) -> bool:
    """Whether the program with these bugs alone, put in by hand, does something else on the case."""
    blocks = list(buggy.program.blocks)
    for place, code, _ in bugs:
        blocks[place] = code
    outcome = buggy.program.run(case.arguments, tuple(blocks))
    return outcome.error != "" or outcome.value != case.value


def test_the_tests_fail_until_every_bug_is_mended():
    for buggy in drawn(150):
        for size in range(1, len(buggy.bugs) + 1):
            for left in itertools.combinations(buggy.bugs, size):
                assert any(fails(buggy, left, case) for case in buggy.cases)
        assert not any(fails(buggy, (), case) for case in buggy.cases)


@pytest.mark.parametrize("count", [2, 3])
def test_bugs_that_make_up_for_each_other_are_not_put_together(count: int, monkeypatch: pytest.MonkeyPatch):
    blocks = ("total = n + 3", "product = (total - 3) * 7", "rest = product % 90", "return rest")
    words, names = ("", "", ""), ("total", "product", "rest")
    program = Program("f", "int", "int", (Parameter("n", ""),), words, blocks, names, (), ())
    monkeypatch.setattr(drawing, "draw_program", lambda *_: program)
    dice = Dice(np.random.default_rng(0))
    bodies = [draw_buggy(dice, "numbers", 3, 8, count).body for _ in range(150)]
    one, other = "total = n + 4", "product = (total - 4) * 7"
    assert {one, other} <= {block for body in bodies for block in body}
    assert not any(one in body and other in body for body in bodies)


def test_there_are_as_many_bugs_as_asked_each_of_its_kind_in_a_step_of_its_own():
    for i, buggy in enumerate(drawn(60, 1)):
        places = [bug.place for bug in buggy.bugs]
        assert len(buggy.bugs) == 1 + i % 3
        assert places == sorted(set(places))
        # The last block is the return.
        assert places[-1] < len(buggy.program.specification)
        for bug in buggy.bugs:
            block = buggy.program.blocks[bug.place]
            assert bug.code != block
            assert bug.kind in KINDS
            assert bug.code in [apply_mutation(block, site) for site in find_sites(block) if site.kind == bug.kind]


def test_the_body_has_all_the_bugs_and_else_what_was_meant():
    for buggy in drawn(30, 2):
        changed = {bug.place: bug.code for bug in buggy.bugs}
        assert len(buggy.body) == len(buggy.program.blocks)
        for place, block in enumerate(buggy.body):
            assert block == changed.get(place, buggy.program.blocks[place])


def test_the_first_case_shows_the_bugs_together():
    assert all(fails(buggy, buggy.bugs, buggy.cases[0]) for buggy in drawn(120, 3))


def test_the_first_cases_show_each_bug_alone_and_by_itself_where_that_can_be():
    for buggy in drawn(80, 4):
        first = buggy.cases[: len(buggy.bugs)]
        for bug in buggy.bugs:
            others = [other for other in buggy.bugs if other is not bug]
            assert any(fails(buggy, (bug,), case) for case in first)
            own = [c for c in buggy.cases if fails(buggy, (bug,), c) and not any(fails(buggy, (o,), c) for o in others)]
            assert not own or any(case in own for case in first)


def test_cases_are_as_many_as_asked_and_different():
    for buggy in drawn(60, 5):
        assert len({repr(case.arguments) for case in buggy.cases}) == len(buggy.cases) == 8
