"""Sokoban, against a search over pushes on the room that the prompt shows."""

from __future__ import annotations

import itertools
from collections import deque
from typing import Any

import numpy as np
import pytest
from palaestra.envs.puzzles.sokoban import OFF_PLAN, Level, Sokoban, SokobanState

FAMILY = Sokoban()
Place = tuple[int, int]
STEPS = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
# Player, box, floor, goal in a corridor, with a bay below the floor beside the player.
CORRIDOR = "# # # # # #\n# - - - . #\n# - # # # #\n# # # # # #"
SMALL = SokobanState(
    Level(CORRIDOR, 12, frozenset({16}), 14, ((16, "R"), (18, "R"))),
    frozenset({16}),
    14,
)


def read(text: str) -> tuple[set[Place], set[Place], frozenset[Place], Place]:
    """Walls, goals, boxes and player of a room in an observation."""
    rows = [line.split(" ") for line in text.split("\n") if line.startswith("# ")]
    rows = [row for row in rows if all(len(cell) == 1 for cell in row)]
    at = {(y, x): cell for y, row in enumerate(rows) for x, cell in enumerate(row)}
    (player,) = [place for place, cell in at.items() if cell in "@+"]
    walls, goals, boxes = ({place for place, cell in at.items() if cell in kind} for kind in ("#", ".*+", "$*"))
    return walls, goals, frozenset(boxes), player


def fewest_pushes(text: str) -> int:
    """By 0-1 breadth-first search over boxes and player; -1 where there is no solution."""
    walls, goals, boxes, player = read(text)
    found, queue = {(boxes, player)}, deque([(0, boxes, player)])
    while queue:
        pushes, boxes, (y, x) = queue.popleft()
        if boxes == goals:
            return pushes
        for dy, dx in STEPS.values():
            there, beyond = (y + dy, x + dx), (y + 2 * dy, x + 2 * dx)
            after = boxes
            if there in walls:
                continue
            if there in boxes:
                if beyond in walls or beyond in boxes:
                    continue
                after = boxes - {there} | {beyond}
            if (after, there) not in found:
                if after is boxes:
                    found.add((after, there))
                    queue.appendleft((pushes, after, there))
                else:
                    queue.append((pushes + 1, after, there))
                    found.add((after, there))
    return -1


def played(state: SokobanState, *actions: str) -> list[Any]:
    record = []
    for action in actions:
        record.append(FAMILY.act(state, action))
        state = record[-1].state
    return record


def starts(count: int, **params: int) -> list[SokobanState]:
    rng = np.random.default_rng(count)
    return [FAMILY.start(rng, params) for _ in range(count)]


@pytest.mark.parametrize(("boxes", "pushes", "count"), [(1, 2, 40), (1, 5, 40), (2, 2, 8), (2, 3, 4)])
def test_no_solution_has_fewer_pushes_than_promised(boxes: int, pushes: int, count: int):
    for size in (7, 9):
        for state in starts(count, boxes=boxes, pushes=pushes, size=size if boxes == 1 else 7):
            fewest = fewest_pushes(FAMILY.observe(state))
            assert boxes * pushes <= fewest <= len(state.level.plan) <= 40


def pushes_alone(walls: set[Place], box: Place) -> dict[Place, int]:
    """For each place to which a single box can be pushed from ``box``, the pushes that takes if the player flies."""
    found, queue = {box: 0}, deque([box])
    while queue:
        y, x = queue.popleft()
        for dy, dx in STEPS.values():
            there = (y + dy, x + dx)
            if there not in walls and (y - dy, x - dx) not in walls and there not in found:
                found[there] = found[y, x] + 1
                queue.append(there)
    return found


@pytest.mark.parametrize(("boxes", "pushes", "size"), [(2, 5, 7), (3, 4, 8), (4, 2, 7), (4, 4, 9)])
def test_the_distances_of_the_boxes_sum_to_the_promised_number(boxes: int, pushes: int, size: int):
    for state in starts(25, boxes=boxes, pushes=pushes, size=size):
        walls, goals, found, _ = read(FAMILY.observe(state))
        alone = [pushes_alone(walls, box) for box in found]
        sums = [
            sum(far.get(goal, 1000) for far, goal in zip(alone, order))
            for order in itertools.permutations(sorted(goals))
        ]
        assert min(sums) == boxes * pushes


@pytest.mark.parametrize("boxes", [1, 2, 3, 4])
def test_the_oracle_solves_each_level_by_the_rules(boxes: int):
    for state in starts(15, boxes=boxes, pushes=4, size=7):
        walls, goals, found, (y, x) = read(FAMILY.observe(state))
        assert len(found) == len(goals) == boxes
        assert found != goals
        for _ in range(50):
            action = FAMILY.oracle(state)
            result = FAMILY.act(state, action)
            for move in action.split():
                dy, dx = STEPS[move]
                y, x = y + dy, x + dx
                assert (y, x) not in walls
                if (y, x) in found:
                    beyond = (y + dy, x + dx)
                    assert beyond not in walls | found
                    found = found - {(y, x)} | {beyond}
            state = result.state
            assert read(FAMILY.observe(state)) == (walls, goals, found, (y, x))
            if result.done:
                break
        assert result.success
        assert found == goals


def test_off_its_plan_the_oracle_begins_again():
    rng = np.random.default_rng(1)
    solved = 0
    for state in starts(15, boxes=2, pushes=3, size=8):
        for _ in range(200):
            if state.done == OFF_PLAN:
                break
            state = FAMILY.act(state, list(STEPS)[int(rng.integers(4))]).state
        else:
            continue
        assert FAMILY.oracle(state) == "restart"
        for _ in range(41):
            result = FAMILY.act(state, FAMILY.oracle(state))
            state = result.state
            if result.done:
                break
        solved += result.success
    assert solved >= 10


def test_worked_example():
    assert FAMILY.observe(SMALL).split("\n")[2] == "# @ $ - . #"
    pushed, won = played(SMALL, "right", "Right")
    assert FAMILY.observe(pushed.state).split("\n")[1] == "# - @ $ . #"
    assert (pushed.done, pushed.progress) == (False, 0.0)
    assert FAMILY.observe(won.state).split("\n")[1] == "# - - @ * #"
    assert (won.done, won.success, won.progress) == (True, True, 1.0)
    for action in ("right right", "RR", "r, r", "down up rr", "right right left"):
        assert played(SMALL, action)[0].success, action


@pytest.mark.parametrize(
    ("action", "why"),
    [
        ("left", "Move 1 (left) runs into a wall"),
        ("down down", "Move 2 (down) runs into a wall"),
        ("push right", "must be moves"),
        ("restart right", "must be moves"),
        ("R" * 101, "at most 100"),
        ("\u0130", "must be moves"),
    ],
)
def test_an_action_with_anything_impossible_does_nothing(action: str, why: str):
    (result,) = played(SMALL, action)
    assert result.state is SMALL
    assert why in (result.action_error or "")
    assert not result.done


def test_boxes_cannot_be_pushed_into_walls_or_other_boxes():
    room = "# # # # # #\n# - - . . #\n# # # # # #"
    row = SokobanState(Level(room, 12, frozenset({16, 18}), 14, ()), frozenset({16, 18}), 14)
    assert "Move 1 (right) pushes a box that cannot move" in (played(row, "right")[0].action_error or "")
    stuck = SokobanState(SMALL.level, frozenset({20}), 18)
    assert "Move 1 (right) pushes a box that cannot move" in (played(stuck, "right")[0].action_error or "")


def test_restart_leads_back_to_the_first_room():
    moved, again = played(SMALL, "right", "restart")
    assert FAMILY.observe(again.state).split("\n")[1] == "# @ $ - . #"
    assert again.state.boxes == SMALL.boxes != moved.state.boxes
    assert again.state.begun


def test_a_player_and_a_box_on_goals_have_their_own_signs():
    on_goal = SokobanState(SMALL.level, frozenset({16}), 20, begun=True)
    assert FAMILY.observe(on_goal).split("\n")[1] == "# - $ - + #"


def test_solver_cost_is_the_length_of_the_plan_in_moves():
    assert FAMILY.solver_cost(SMALL) == 2.0


def test_pictures_have_a_square_per_place():
    pytest.importorskip("PIL")
    assert FAMILY.draw(SMALL).shape == (4 * 40 + 1, 6 * 40 + 1, 3)


def test_moves_after_the_last_box_is_home_are_not_made():
    for state in starts(10, boxes=1, pushes=2, size=7):
        result = FAMILY.act(state, FAMILY.oracle(state))
        while not result.done:
            last, action = result.state, FAMILY.oracle(result.state)
            result = FAMILY.act(last, action)
        longer = FAMILY.act(last, f"{action} {' '.join([action.split()[-1]] * 9)}")
        assert longer.success
        assert longer.state == result.state


def test_positions_goals_reached_and_potentials_of_a_game_played_by_the_oracle():
    env = Sokoban(boxes=2, pushes=3, size=7)
    for seed in range(5):
        _, info = env.reset(seed=seed)
        while not (step := env.step(env.oracle()))[2]:
            pass
        extras, start = step[4]["extras"], info["extras"]
        turns = len(extras["completion"])
        assert (len(extras["positions"]), len(extras["potentials"]), len(extras["achieved"])) == (
            turns + 1,
            turns + 1,
            turns,
        )
        assert (start["potentials"], extras["potentials"][0], extras["potentials"][-1]) == ([-1.0], -1.0, 0.0)
        room = env.here().level.room.split("\n")
        named = {f"goal ({x}, {y})" for y, row in enumerate(room) for x, c in enumerate(row.split()) if c == "."}
        assert {name for names in extras["achieved"] for name in names} == named


def test_a_box_in_a_corner_is_as_far_as_the_whole_start():
    stuck = SokobanState(SMALL.level, frozenset({26}), 14, begun=True)
    assert FAMILY.measure_states([SMALL, SMALL, stuck], "positions")[:2] == [[1, 1], [1, 1]]
    assert FAMILY.measure_states([SMALL, stuck], "potentials") == [-1.0, -1.0]
