"""Program repair: every bug shows in an example, and only what mends it is right."""

from __future__ import annotations

import numpy as np
import pytest
from palaestra.envs.code.program_repair import ProgramRepair
from palaestra.envs.code.programs.cases import ProgramCase, fails_case
from palaestra.envs.code.programs.grammar import format_call, write_source
from palaestra.envs.code.programs.mutations import KINDS
from palaestra.envs.question import Task
from palaestra.rewards.answers import fenced

from .sandboxed import HOSTILE

FAMILY = ProgramRepair()


def tasks(count: int, seed: int = 0) -> list[Task]:
    rng = np.random.default_rng(seed)
    domains = ("numbers", "strings", "lists")
    return [
        FAMILY.generate(rng, {"steps": 1 + i % 5, "domain": domains[i % 3], "examples": 2 + i % 3})
        for i in range(count)
    ]  # fmt: skip


def test_the_first_example_shows_the_bug():
    for task in tasks(150):
        program, body, _, tests = task.data
        first = ProgramCase(tuple(tests[0].arguments), tests[0].expected)
        assert tests[0].public
        assert fails_case(program, body, first)
        assert f"{format_call(program, first.arguments)} == {first.value!r}" in task.prompt


def test_one_piece_of_the_code_has_a_bug_and_all_kinds_occur():
    kinds = set()
    for task in tasks(500, 1):
        program, body, kind, _ = task.data
        assert sum(one != other for one, other in zip(body, program.blocks)) == 1
        assert f"\n{write_source(program, body)}\n" in task.prompt
        assert program.source not in task.prompt
        kinds.add(kind)
    # An option is in few programs.
    assert kinds >= set(KINDS) - {"missing option"}


def test_the_program_with_the_bug_fails_an_example_in_python_too():
    for task in tasks(20, 2):
        program, body, _, _ = task.data
        verdict = FAMILY.verify(task, fenced(write_source(program, body)))
        assert (verdict.success, verdict.reward, verdict.valid) == (False, 0.0, True)
        assert "that is not shown" not in verdict.feedback
        assert FAMILY.verify(task, FAMILY.oracle(task)).success


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_programs_get_no_reward_and_are_valid(name: str):
    task = tasks(1)[0]
    family = ProgramRepair(seconds=0.3)
    verdict = family.verify(task, HOSTILE[name].format(name=task.data.program.name))
    assert (verdict.reward, verdict.success, verdict.valid) == (0.0, False, True)


def test_the_steps_tell_an_example_that_shows_the_bug():
    for task in tasks(40, 3):
        program, body, kind, tests = task.data
        first, part, named, _ = FAMILY.solution_steps(task)
        arguments = tuple(tests[0].arguments)
        outcome = program.run(arguments, body)
        does = f"fails ({outcome.error})" if outcome.error else f"is {outcome.value!r}"
        assert first == f"{format_call(program, arguments)} {does}, but should be {tests[0].expected!r}."
        wrong = next(i for i in range(len(body)) if body[i] != program.blocks[i])
        assert part.endswith(program.specification[wrong])
        assert named == f"The bug: {kind}."


def test_bugs_of_one_specification_lie_in_one_split():
    for task in tasks(10, 4):
        assert task.split_key == "\n".join(task.data.program.specification)
