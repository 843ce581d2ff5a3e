"""palaestra/BabyAI-v0: instructions in a small language, one or several composed, in rooms with doors; and its text
twin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from . import baby_instructions as baby
from .cells import EMPTY, PORTABLE, THINGS, code_of
from .grid_families import define_family
from .grid_rules import DOORS, FREE_STEPS, GridRules, Option
from .grid_world import DROP, World, apply_action
from .rooms import RoomGrid

# Classes of MiniGrid's BabyAI, and their names here.
_JOINED = {"AndInstr": "and", "BeforeInstr": "then", "AfterInstr": "after"}
_CLAUSES = {"GoToInstr": "goto", "PickupInstr": "pickup", "OpenInstr": "open", "PutNextInstr": "putnext"}


class BabyAIRules(GridRules):
    """Carry out an instruction: go to a thing, pick it up, open a door, put one thing next to another.

    Description:
        Rooms with closed doors between them, all of which can be reached, and keys, balls and boxes of six colours, all
        reachable without moving another. Several instructions are joined by "and", ", then" and "after you".

    Parameters:
        kind (goto, open, pickup, putnext, any): the kind of each clause; "any" draws it for each clause. A single room
            has no door; there "open" means picking up a box.
        clauses (1 to 3): clauses of the instruction.
        rooms (1 to 2, on request up to 3): rooms in each direction.
        room_size (5 to 8): cells along the side of a room, its walls included; MiniGrid has 8.
        distractors (2 to 8, on request up to 18): total number of things in all rooms.

    Termination:
        When the instruction is done. Truncated after (rooms * room_size)**2 steps for each thing to go to, BabyAI's
        limit, and in text after 3 * rooms * room_size turns for each. A random walk completes some of the short
        instructions.

    Source:
        BabyAI (Chevalier-Boisvert et al., arXiv 1810.08272), as shipped with MiniGrid.
    """

    param_space = ParamSpace(
        [
            ChoiceAxis("kind", ("goto", "open", "pickup", "putnext", "any")),
            IntAxis("clauses", 1, 3),
            IntAxis("rooms", 1, 2, limits=(1, 3)),
            IntAxis("room_size", 5, 8),
            IntAxis("distractors", 2, 8, limits=(2, 18)),
        ]
    )
    subgoals = ("first", "second", "third", "all")
    redraws = True
    room_side = "room_size"

    def lay_out(self, rng: np.random.Generator, params: Mapping[str, Any]) -> World:
        while True:
            rooms = RoomGrid(rng, params["room_size"], params["rooms"], params["rooms"])
            agent, facing = rooms.place_agent(rooms.draw_room())
            rooms.connect_all(rooms.room_of(agent))
            for _ in range(params["distractors"]):
                room, kind = rooms.draw_room(), PORTABLE[int(rng.integers(3))]
                if len(rooms.inside(room)) > 2:
                    rooms.add_thing(room, code_of(kind, rooms.draw_colour()))
            world = rooms.world(agent, facing)
            if _is_all_reachable(world):
                instruction = _draw_instruction(rng, world, params["kind"], params["clauses"])
                if instruction is not None:
                    return start_instruction(world, instruction, params["room_size"] * params["rooms"])

    def adopt(self, world: World, env: Any) -> World:
        return start_instruction(world, _read_instruction(env.instrs), env.room_size * env.num_rows)

    def mission(self, world: World) -> str:
        instruction, known, _ = world.task
        return baby.say(instruction, known)

    def limit(self, world: World) -> int:
        instruction, _, side = world.task
        return baby.count_navigations(instruction) * side**2

    def turns(self, world: World) -> int:
        instruction, _, side = world.task
        return 3 * side * baby.count_navigations(instruction)

    def advance(self, world: World, action: int) -> World:
        after = apply_action(world, action)
        progress, known = after.memo
        if action == DROP:
            known = after.cells
        checked = baby.check(world.task[0], progress, action, after, known)
        if checked == progress and known is after.memo[1]:
            return after
        return after._replace(memo=(checked, known))

    def flags(self, world: World) -> tuple[bool, ...]:
        instruction, progress = world.task[0], world.memo[0]
        clauses, done = baby.count_clauses(instruction), baby.count_done(instruction, progress)
        # With fewer than three clauses, the flags of missing clauses follow the last one.
        return (*(done > min(place, clauses - 1) for place in range(3)), done >= clauses)

    def options(self, world: World) -> Sequence[Option]:
        return baby.list_options(world.task[0], world.memo[0], world)

    def content(self, world: World) -> str:
        return f"{super().content(world._replace(task=None))} {world.task[0]}"


def _read_instruction(instruction: Any) -> baby.Instruction:
    """Convert an instruction object of BabyAI."""
    name = type(instruction).__name__
    if name in _JOINED:
        return _JOINED[name], _read_instruction(instruction.instr_a), _read_instruction(instruction.instr_b)
    parts = [getattr(instruction, key) for key in ("desc", "desc_move", "desc_fixed") if hasattr(instruction, key)]
    return _CLAUSES[name], *((part.type or "", part.color or "") for part in parts)


def start_instruction(world: World, instruction: baby.Instruction, side: int) -> World:
    """Return a world with an instruction as its task.

    Args:
        world: a level.
        instruction: see `baby_instructions`.
        side: cells along the side of the whole grid of rooms; the step limit grows with it.
    """
    return world._replace(
        task=(instruction, world.cells, side), memo=(baby.begin(instruction), world.cells), carried=EMPTY
    )


def _is_all_reachable(world: World) -> bool:
    """Return True if every thing can be reached without moving another."""
    seen, edge = {world.agent}, [world.agent]
    for here in edge:
        code = world.cells[here]
        if FREE_STEPS[code] or DOORS[code]:
            around = [here + step for step in (1, world.width, -1, -world.width)]
            edge += [index for index in around if index not in seen]
            seen.update(around)
    return all(index in seen for index, code in enumerate(world.cells) if THINGS[code].kind in PORTABLE)


def _draw_instruction(rng: np.random.Generator, world: World, kind: str, clauses: int) -> baby.Instruction | None:
    """Draw an instruction on things of the world; None if they do not allow one."""
    things = [code for code in world.cells if THINGS[code].kind in PORTABLE]
    doors = [code for code in world.cells if DOORS[code]]
    ahead = world.cells[world.ahead]

    def choose(codes: list[int]) -> tuple[str, str]:
        thing = THINGS[codes[int(rng.integers(len(codes)))]]
        return (thing.kind, "" if rng.random() < 0.2 else thing.colour)

    def draw_clause() -> baby.Instruction | None:
        name = kind if kind != "any" else baby.CLAUSES[int(rng.integers(4))]
        if not things:
            return None
        if name == "open":
            return ("open", choose(doors)) if doors else ("pickup", choose(things))
        if name == "goto":
            what = choose(things + doors)
            return None if ahead in baby.codes_of(what) else ("goto", what)
        if name == "pickup":
            return "pickup", choose(things)
        move, fixed = choose(things), choose(things)
        if set(baby.codes_of(move)) & set(baby.codes_of(fixed)):
            return None
        spots = [index for index, code in enumerate(world.cells) if code in baby.codes_of(fixed)]
        beside = {index + step for index in spots for step in (1, world.width, -1, -world.width)}
        return None if any(world.cells[i] in baby.codes_of(move) for i in beside) else ("putnext", move, fixed)

    drawn = [clause for _ in range(clauses) if (clause := draw_clause())]
    if len(drawn) < clauses:
        return None
    joined = drawn[0]
    for number, clause in enumerate(drawn[1:]):
        # "and" binds the first two clauses, as in BabyAI's grammar.
        names = ("and", "then", "after") if number == 0 else ("then", "after")
        joined = (names[int(rng.integers(len(names)))], joined, clause)
    return joined


BabyAI, BabyAIText = define_family(
    BabyAIRules,
    grid={
        "note": "One action repeated meets the thing asked for by chance in a few levels.",
    },
    text={
        "note": "One action repeated meets the thing asked for by chance in a few levels.",
    },
)
