"""The Tower of Hanoi, against a breadth-first search over all arrangements."""

from __future__ import annotations

import itertools
from collections import deque

import numpy as np
import pytest
from palaestra.envs.puzzles.tower_of_hanoi import Disks, TowerOfHanoi
from palaestra.envs.question import Task

Pegs = tuple[int, ...]


def neighbours(pegs: Pegs) -> list[Pegs]:
    """A disk may move where neither its own peg nor the other one holds a smaller disk."""
    found = []
    for disk, here in enumerate(pegs):
        for there in range(3):
            if there != here and here not in pegs[:disk] and there not in pegs[:disk]:
                found.append((*pegs[:disk], there, *pegs[disk + 1 :]))
    return found


def distances(start: Pegs) -> dict[Pegs, int]:
    found, queue = {start: 0}, deque([start])
    while queue:
        pegs = queue.popleft()
        for other in neighbours(pegs):
            if other not in found:
                found[other] = found[pegs] + 1
                queue.append(other)
    return found


def task(start: Pegs, goal: Pegs, most: int = 1000) -> Task:
    return Task("", None, data=Disks(start, goal, most))


# Three disks: 2 on A, 1 on B, 3 on C; all are to go to C, which takes three moves.
SPREAD = task((1, 0, 2), (2, 2, 2), most=3)
FAMILY = TowerOfHanoi()


@pytest.mark.parametrize("disks", [1, 2, 3, 4])
def test_plans_between_all_arrangements_are_legal_and_shortest(disks: int):
    arrangements = list(itertools.product(range(3), repeat=disks))
    for start in arrangements:
        fewest = distances(start)
        assert len(fewest) == 3**disks
        for goal in arrangements:
            if start != goal:
                answer = FAMILY.oracle(task(start, goal))
                assert len(answer.split()) == fewest[goal] == FAMILY.solver_cost(task(start, goal))
                assert FAMILY.verify(task(start, goal, fewest[goal]), answer).success


@pytest.mark.parametrize("disks", [5, 6, 7])
def test_generated_tasks_ask_for_as_many_moves_as_needed_and_the_slack(disks: int):
    rng = np.random.default_rng(disks)
    for slack in (0, 8):
        for _ in range(3):
            made = FAMILY.generate(rng, {"disks": disks, "slack": slack})
            fewest = distances(made.data.start)[made.data.goal]
            assert made.data.most == fewest + slack
            assert fewest >= 2 ** (disks - 2)
            assert f"at most {made.data.most} moves" in made.prompt


def test_the_prompt_lists_the_disks_of_each_peg_from_the_bottom():
    made = FAMILY.generate(np.random.default_rng(1), {"disks": 4, "slack": 0})
    for line, pegs in zip(made.prompt.split("\n")[1:3], (made.data.start, made.data.goal)):
        for peg, part in enumerate(line.split(": ", 1)[1].rstrip(".").split(", ")):
            disks = [disk for disk in (4, 3, 2, 1) if pegs[disk - 1] == peg]
            assert part == f"{'ABC'[peg]}: {' '.join(map(str, disks)) or '-'}"


def test_any_plan_that_is_short_enough_is_right_in_any_spelling():
    # Disk 2 goes to C before disk 1.
    assert FAMILY.verify(SPREAD, "AC BC").success
    for answer in ("A->C, B->C", "ac bc", "A to C; B to C", "ACBC", "AC BA AC", "A \u2192 C, B \u2192 C", "[AC, BC]"):
        assert FAMILY.verify(SPREAD, answer).success, answer


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("BC AC", "Move 2 cannot bring disk 2 to C"),
        ("AC", "do not end in the goal"),
        ("AC AB", "Move 2 takes a disk from A, which is empty"),
        ("AA AC BC", "Move 1 cannot bring disk 2 to A"),
        ("AC BA AB BC", "4 moves are more than 3"),
        ("AB" * 2048, "2048 moves are more than 3"),
    ],
)
def test_wrong_plans_are_told_what_is_wrong(answer: str, why: str):
    verdict = FAMILY.verify(SPREAD, answer)
    assert (verdict.success, verdict.malformed, verdict.score) == (False, False, 0.0)
    assert why in verdict.feedback


@pytest.mark.parametrize("answer", ["", "A", "AC B", "AD", "1 from A to C", "TO", "2 3", "(A, C)"])
def test_what_is_no_list_of_moves_is_malformed(answer: str):
    assert FAMILY.verify(SPREAD, answer).malformed


def test_each_step_moves_the_disk_it_names():
    rng = np.random.default_rng(5)
    for _ in range(30):
        made = FAMILY.generate(rng, {"disks": 5, "slack": 2})
        pegs, steps = made.data.start, FAMILY.solution_steps(made)
        for step in steps[:-1]:
            _, disk, _, here, _, there = step.rstrip(".").split()
            after = (*pegs[: int(disk) - 1], "ABC".index(there), *pegs[int(disk) :])
            assert pegs[int(disk) - 1] == "ABC".index(here)
            assert after in neighbours(pegs)
            pegs = after
        assert pegs == made.data.goal
        assert steps[-1] == FAMILY.oracle(made)


def test_pictures_show_both_arrangements_side_by_side():
    pytest.importorskip("PIL")
    assert FAMILY.draw(SPREAD).shape == (4 * 40 + 1, 7 * 40 + 1, 3)


def test_the_example_of_the_prompt_is_never_the_answer():
    rng = np.random.default_rng(6)
    for _ in range(200):
        made = FAMILY.generate(rng, {"disks": 3, "slack": 8})
        assert 'such as "AC CA"' in made.prompt
        assert not FAMILY.verify(made, "AC CA").success
