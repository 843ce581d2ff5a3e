"""Blocksworld, against a breadth-first search over sets of stacks."""

from __future__ import annotations

import re

import numpy as np
import pytest
from palaestra.envs.puzzles.blocksworld import Blocks, Blocksworld, shortest_plan
from palaestra.envs.question import Task

FAMILY = Blocksworld()
State = frozenset[str]
# B on A; the goal is A on B, and C on D as it stands.
TASK = Task("", None, data=Blocks(("AB", "DC"), ("BA", "DC"), (("B", "table"), ("A", "B")), 2))


def successors(state: State) -> dict[tuple[str, str], State]:
    found = {}
    for stack in state:
        rest = state - {stack} | ({stack[:-1]} - {""})
        found[stack[-1], "table"] = rest | {stack[-1]}
        for other in rest - {stack[:-1]}:
            found[stack[-1], other[-1]] = rest - {other} | {other + stack[-1]}
    return found


def distances(start: State, goal: State | None = None) -> dict[State, int]:
    found, layer = {start: 0}, [start]
    while layer and goal not in found:
        ahead = []
        for state in layer:
            for other in successors(state).values():
                if other not in found:
                    found[other] = found[state] + 1
                    ahead.append(other)
        layer = ahead
    return found


def tasks(count: int, **params: int) -> list[Task]:
    rng = np.random.default_rng(count)
    return [FAMILY.generate(rng, params) for _ in range(count)]


def shown(task: Task) -> tuple[State, State]:
    lines = re.findall(r"^(?:Now|Goal): (.*)$", task.prompt, re.MULTILINE)
    now, goal = (frozenset(stack.replace(" ", "") for stack in line.split("; ")) for line in lines)
    return now, goal


def test_plans_between_all_arrangements_of_four_blocks_are_shortest():
    start = frozenset({"ABCD"})
    everything = distances(start)
    assert len(everything) == 73
    for one in list(everything)[::5]:
        fewest = distances(one)
        for other in everything:
            assert len(shortest_plan(tuple(one), tuple(other))) == fewest[other]


@pytest.mark.parametrize(("blocks", "count"), [(5, 20), (6, 5)])
def test_tasks_allow_the_fewest_moves_and_the_slack(blocks: int, count: int):
    for slack in (0, 3):
        for task in tasks(count, blocks=blocks, slack=slack):
            now, goal = shown(task)
            fewest = distances(now, goal)[goal]
            assert f"at most {fewest + slack} moves" in task.prompt
            assert len(task.data.plan) == fewest >= blocks / 2


@pytest.mark.parametrize("slack", [0, 2])
def test_every_short_sequence_of_moves_is_judged_as_in_the_search(slack: int):
    rng = np.random.default_rng(slack)
    right = 0
    for task in tasks(30, blocks=4, slack=slack):
        now, goal = shown(task)
        for _ in range(40):
            state, moves, legal = now, [], True
            for _ in range(int(rng.integers(1, task.data.most + 2))):
                block, target = rng.choice(list("ABCD")), rng.choice(["table", *"ABCD"])
                options = successors(state)
                if rng.random() < 0.9:
                    block, target = sorted(options)[int(rng.integers(len(options)))]
                moves.append(f"{block} {target}")
                legal = legal and (block, target) in options
                state = options.get((block, target), state)
                if state == goal:
                    break
            wanted = legal and state == goal and len(moves) <= task.data.most
            assert FAMILY.verify(task, ", ".join(moves)).success == wanted
            right += wanted
    assert right > 5


@pytest.mark.parametrize(
    "answer",
    [
        *("B table, A B", "b table, a b", "Move B to the table; put A on B", "B -> table, A -> B"),
        *("B onto table,A onto B", "Move B to table, then put A on B", "B \u2192 table\nA \u2192 B"),
    ],
)
def test_a_plan_is_right_in_any_spelling(answer: str):
    assert FAMILY.verify(TASK, answer).success


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("A B", "Move 1 takes A, which has a block on it"),
        ("B A, A B", "Move 1 cannot put B onto A"),
        ("B D, A B", "Move 1 cannot put B onto D"),
        ("C C", "Move 1 cannot put C onto C"),
        ("B table", "do not end in the goal"),
        ("B table, B table, A B", "3 moves are more than 2"),
    ],
)
def test_wrong_plans_are_told_what_is_wrong(answer: str, why: str):
    verdict = FAMILY.verify(TASK, answer)
    assert (verdict.success, verdict.malformed, verdict.score) == (False, False, 0.0)
    assert why in verdict.feedback


@pytest.mark.parametrize(
    "answer", ["", "B", "B table, ", "B table A B", "E table", "table B", "BA", "B; A; C", "AB table", "," * 4000]
)
def test_what_is_no_list_of_moves_is_malformed(answer: str):
    assert FAMILY.verify(TASK, answer).malformed


def test_the_order_of_the_stacks_does_not_matter():
    turned = Task("", None, data=TASK.data._replace(goal=("DC", "BA")))
    assert FAMILY.verify(turned, "B table, A B").success


def test_the_content_is_both_arrangements_without_the_order_of_the_stacks_and_the_moves_allowed():
    made: dict[tuple[State, State], set[str]] = {}
    for slack in (0, 4):
        for task in tasks(1500, blocks=4, slack=slack):
            made.setdefault(shown(task), set()).add(task.content)
    assert {len(contents) for contents in made.values()} == {1}
    assert len(set.union(*made.values())) == len(made)


def test_each_step_is_a_legal_move_from_where_it_says():
    for task in tasks(20, blocks=7, slack=0):
        state, goal = shown(task)
        steps = FAMILY.solution_steps(task)
        for step in steps[:-1]:
            block, home, target = re.findall(r"Take (\w) from (?:the )?(\w+) and put it on (?:the )?(\w+)\.", step)[0]
            (stack,) = [stack for stack in state if stack.endswith(block)]
            assert home == (stack[-2] if len(stack) > 1 else "table")
            state = successors(state)[block, target]
        assert state == goal
        assert steps[-1] == task.solution


def test_pictures_show_both_arrangements_side_by_side():
    pytest.importorskip("PIL")
    # Two stacks, a gap, two stacks; two blocks high, and the table.
    assert FAMILY.draw(TASK).shape == (3 * 40 + 1, 5 * 40 + 1, 3)


def test_the_example_of_the_prompt_is_never_the_answer():
    for task in tasks(200, blocks=4, slack=4):
        (example,) = re.findall(r'such as "([^"]+)"', task.prompt)
        assert FAMILY.verify(task, example).malformed
