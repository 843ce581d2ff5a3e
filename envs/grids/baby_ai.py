"""palaestra/BabyAI-v0: instructions in a small language, one or several composed, in rooms with doors; and its text
twin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np

from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from . import baby_instructions as baby
from .baby_planner import list_options
from .cells import EMPTY, PORTABLE, THINGS, code_of
from .grid_families import define_family
from .grid_rules import DOORS, FREE_STEPS, GridRules, Option
from .grid_world import PICK_UP, TOGGLE, World, apply_action, put
from .rooms import RoomGrid
from .ways import enter_unlocked, find_region

# Classes of MiniGrid's BabyAI, and their names here.
_JOINED = {"AndInstr": "and", "BeforeInstr": "then", "AfterInstr": "after"}
_CLAUSES = {"GoToInstr": "goto", "PickupInstr": "pickup", "OpenInstr": "open", "PutNextInstr": "putnext"}


class BabyAIRules(GridRules):
    """Carry out an instruction: go to a thing, pick it up, open a door, put one thing next to another.

    Description:
        Rooms joined by closed doors, with keys, balls and boxes of six colours. Every room and thing can be reached
        without moving a thing. Several instructions are joined by "and", ", then" and "after you". MiniGrid's levels
        (``minigrid=``) also name things by their place ("on your left"), lock doors, hide keys, block ways, and may be
        strict: a wrong door or thing is then a failure.

    Parameters:
        kind (goto, open, pickup, putnext, any): the kind of each clause; "any" draws it for each clause. A single room
            has no door; there "open" means picking up a box.
        clauses (1 to 3): clauses of the instruction.
        rooms (1 to 2, on request up to 3): rooms in each direction.
        room_size (5 to 8): cells along the side of a room, its walls included; MiniGrid has 8.
        distractors (2 to 8, on request up to 18): total number of things in all rooms.

    Termination:
        When the instruction is done. Truncated after (rooms * room_size)**2 steps for each thing to go to, BabyAI's
        limit, and in text after 3 * rooms * room_size turns for each; in MiniGrid's levels MiniGrid's step limit also
        limits turns. A random walk completes some of the short instructions.

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
        instruction, descriptions = _read_instruction(env.instrs)
        things, carried = env.grid.grid, env.carrying
        marks = []
        for each in descriptions:
            meant = {id(thing) for thing in each.obj_set}
            marks.append(
                frozenset(index for index, thing in enumerate(things) if id(thing) in meant)
                | {baby.CARRIED for thing in (carried,) if id(thing) in meant}
            )
        known = tuple(frozenset(int(y) * world.width + int(x) for x, y in each.obj_poss) for each in descriptions)
        clause = baby.parse(instruction)[0]
        memo = baby.Memo(baby.begin(clause), tuple(marks), known)
        task = BabyTask(
            instruction, clause, baby.say(instruction, memo.marks), env.max_steps, env.max_steps, clears=True
        )
        return world._replace(task=task, memo=memo)

    def mission(self, world: World) -> str:
        return world.task.mission

    def limit(self, world: World) -> int:
        return world.task.limit

    def turns(self, world: World) -> int:
        return world.task.turns

    def advance(self, world: World, action: int) -> World:
        after = apply_action(world, action)
        memo = after.memo
        if PICK_UP <= action <= TOGGLE:
            memo = baby.move_marks(memo, world, action, after)
        progress = baby.check(world.task.clause, memo.progress, action, after, memo)
        if progress != memo.progress:
            memo = memo._replace(progress=progress)
        return after if memo is after.memo else after._replace(memo=memo)

    def flags(self, world: World) -> tuple[bool, ...]:
        clause, progress = world.task.clause, world.memo.progress
        clauses, done = baby.count_clauses(clause), baby.count_done(clause, progress)
        # With fewer than three clauses, the flags of missing clauses follow the last one.
        return (*(done > min(place, clauses - 1) for place in range(3)), baby.is_done(clause, progress))

    def fails(self, before: World, action: int, after: World) -> bool:
        return baby.is_failed(after.task.clause, after.memo.progress)

    def entry(self, world: World) -> bytes:
        return enter_unlocked(world) if world.task.clears else super().entry(world)

    def region(self, world: World) -> Set[int] | None:
        return find_region(world, self.entry(world)) if world.task.clears else None

    def options(self, world: World) -> Sequence[Option]:
        return list_options(world.task.instruction, world, self.entry(world))

    def shown_first(self, world: World) -> World:
        if not world.carried:
            return world
        cell = next(iter(at - now for at, now in zip(world.memo.known, world.memo.marks) if at - now))
        return world._replace(cells=put(world.cells, min(cell), world.carried), carried=EMPTY)

    def content(self, world: World) -> str:
        return f"{super().content(world._replace(task=None))} {world.task.instruction}"


class BabyTask(NamedTuple):
    """The task of a level.

    Args:
        instruction: see `baby_instructions`.
        clause: the same, parsed.
        mission: the instruction in words.
        limit, turns: steps of the native environment and turns of the text twin.
        clears: True if a solution may have to unlock doors or carry things aside.
    """

    instruction: baby.Instruction
    clause: baby.Clause
    mission: str
    limit: int
    turns: int
    clears: bool = False


def _read_instruction(instruction: Any) -> tuple[baby.Instruction, list[Any]]:
    """Convert an instruction object of BabyAI to tuples; also return the object's descriptions, in the same order."""
    name = type(instruction).__name__
    if name in _JOINED:
        (first, left), (second, right) = map(_read_instruction, (instruction.instr_a, instruction.instr_b))
        found, descriptions = (_JOINED[name], first, second), [*left, *right]
    else:
        keys = ("desc", "desc_move", "desc_fixed")
        descriptions = [getattr(instruction, key) for key in keys if hasattr(instruction, key)]
        places = ((part.type or "", part.color or "", *filter(None, (part.loc,))) for part in descriptions)
        found = _CLAUSES[name], *places
    return (("strict", found) if getattr(instruction, "strict", False) else found), descriptions


def start_instruction(world: World, instruction: baby.Instruction, side: int) -> World:
    """Return a world with an instruction as its task.

    Args:
        world: a level.
        instruction: see `baby_instructions`, without places.
        side: cells along the side of the whole grid of rooms; the step limit grows with it.
    """
    memo, clause = baby.mark(world, instruction), baby.parse(instruction)[0]
    walks = baby.count_navigations(clause)
    task = BabyTask(instruction, clause, baby.say(instruction, memo.marks), walks * side**2, 3 * side * walks)
    return world._replace(task=task, memo=memo, carried=EMPTY)


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
    """Draw an instruction about things of the world; None if a drawn clause is impossible or already done."""
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
