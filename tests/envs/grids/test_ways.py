"""The planner carries things aside and fetches keys: worlds drawn by hand."""

from __future__ import annotations

import pytest
from palaestra.envs.grids.baby_ai import BabyAIRules, start_instruction
from palaestra.envs.grids.baby_instructions import Instruction
from palaestra.envs.grids.cells import EMPTY, WALL, code_of
from palaestra.envs.grids.grid_planner import FAR, find_action, find_distance
from palaestra.envs.grids.grid_world import World

SIGNS = {
    "#": WALL,
    ".": EMPTY,
    ">": EMPTY,
    "a": code_of("ball", "red"),
    "b": code_of("box", "grey"),
    "k": code_of("key", "blue"),
    "x": code_of("box", "green", inside=code_of("key", "blue")),
    "L": code_of("door", "blue", "locked"),
    "y": code_of("key", "yellow"),
    "Y": code_of("door", "yellow", "locked"),
    "D": code_of("door", "red", "closed"),
}
RULES = BabyAIRules()
TAKE: Instruction = ("pickup", ("ball", "red"))


def draw(text: str, instruction: Instruction) -> World:
    lines = text.split()
    cells = bytes(SIGNS[sign] for line in lines for sign in line)
    world = start_instruction(World(len(lines[0]), cells, "".join(lines).index(">"), 0), instruction, 20)
    return world._replace(task=world.task._replace(clears=True))


def play(world: World, most: int) -> int:
    """The number of the planner's steps to the end."""
    for step in range(most):
        if RULES.flags(world)[-1]:
            return step
        world = RULES.advance(world, find_action(RULES, world))
    raise AssertionError(RULES.draw_map(world))


@pytest.mark.parametrize(
    ("level", "instruction"),
    [
        ("######### #>..b..a# #...#...# #########", TAKE),
        ("######### #>..b.ba# #...#...# #########", TAKE),
        ("########### #>...L...a# #.k..#....# ###########", TAKE),
        ("########### #>...L...a# #.x..#....# ###########", TAKE),
        ("########### #>..bL...a# #.k..#....# ###########", TAKE),
        ("########### #>..xL...a# #....#....# ###########", TAKE),
        # The key of the second door lies behind the first, and a box blocks each of the two.
        ("############### #>..bL..bY...a# #.k..#.y.#....# #....#...#....# ###############", TAKE),
        # The ball has to be put down to fetch the key of the door between it and the box.
        ("########### #>.a.L...b# #...k#....# ###########", ("putnext", ("ball", "red"), ("box", ""))),
        # No cell beside the grey box is free.
        ("######## #>.a.b# #....y# #....## ########", ("putnext", ("ball", "red"), ("key", "yellow"))),
        ("########### #>...L...a# #.k..#....# ###########", ("open", ("door", "blue"))),
        ("########### #>...D.b.a# #....#.#### ###########", TAKE),
    ],
)
def test_what_is_in_the_way_is_moved(level: str, instruction: Instruction):
    world = draw(level, instruction)
    distance = find_distance(RULES, world)
    assert distance < FAR
    assert play(world, 100) == distance


def test_a_door_whose_key_is_nowhere_is_no_way():
    world = draw("########### #>...L...a# #....#....# ###########", TAKE)
    assert find_distance(RULES, world) == FAR


def test_a_thing_that_must_not_be_touched_is_not_moved():
    level = "######### #>..b..a# #...#...# #########"
    assert find_distance(RULES, draw(level, ("strict", TAKE))) == FAR
    assert find_distance(RULES, draw(level, TAKE)) < FAR
