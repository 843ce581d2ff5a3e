"""BabyAI's instructions: clauses (go to, pick up, open, put next to), their composition, wording, verification and
planning.

An instruction is nested tuples, so that it is part of a `World`: ``("goto", what)``, ``("pickup", what)``,
``("open", what)``, ``("putnext", what, what)``, and ``("and" | "then" | "after", instruction, instruction)``, where
``what`` is a pair (kind or "", colour or ""). Its progress is a tuple too, the ``memo`` of the world. Both follow
BabyAI's verifier (Chevalier-Boisvert et al., arXiv 1810.08272, as shipped with MiniGrid), including its memory of the
positions of things at the last drop.
"""

from __future__ import annotations

import functools
from typing import Any

from .cells import EMPTY, PORTABLE, THINGS
from .grid_rules import DOORS, Option, drop_options
from .grid_world import DONE, DROP, PICK_UP, TOGGLE, World

Instruction = tuple[Any, ...]
CLAUSES = ("goto", "pickup", "open", "putnext")
JOINED = {"and": " and ", "then": ", then ", "after": " after you "}


@functools.lru_cache(maxsize=512)
def codes_of(what: tuple[str, str]) -> bytes:
    """Return the codes of all things that match a description, with doors in any state."""
    kind, colour = what
    return bytes(
        code
        for code, thing in enumerate(THINGS)
        if (thing.kind == kind or (not kind and thing.kind in (*PORTABLE, "door"))) and colour in ("", thing.colour)
    )


def say(instruction: Instruction, cells: bytes) -> str:
    """Return the instruction in BabyAI's words, given the cells at the start: "the" if exactly one thing matches, else
    "a"."""
    name, *parts = instruction
    if name in JOINED:
        return JOINED[name].join(say(part, cells) for part in parts)
    things = []
    for what in parts:
        kind, colour = what
        matches = sum(code in codes_of(what) for code in cells)
        things.append(" ".join(["the" if matches < 2 else "a", *([colour] if colour else []), kind or "object"]))
    verb = {"goto": "go to", "pickup": "pick up", "open": "open", "putnext": "put"}[name]
    return f"{verb} {' next to '.join(things)}"


def count_clauses(instruction: Instruction) -> int:
    return sum(map(count_clauses, instruction[1:])) if instruction[0] in JOINED else 1


def count_navigations(instruction: Instruction) -> int:
    """Count the walks through the maze in a solution; BabyAI's step limit grows with this number."""
    if instruction[0] in JOINED:
        return sum(map(count_navigations, instruction[1:]))
    return 2 if instruction[0] == "putnext" else 1


def begin(instruction: Instruction) -> tuple[Any, ...]:
    """Return the progress at the start: (done, thing carried at the last check) for a clause, (progress, progress) for
    two."""
    if instruction[0] in JOINED:
        return begin(instruction[1]), begin(instruction[2])
    return False, EMPTY


def is_done(instruction: Instruction, progress: tuple[Any, ...]) -> bool:
    if instruction[0] in JOINED:
        return all(map(is_done, instruction[1:], progress))
    return progress[0]


def count_done(instruction: Instruction, progress: tuple[Any, ...]) -> int:
    """Return the number of completed clauses."""
    if instruction[0] in JOINED:
        return sum(map(count_done, instruction[1:], progress))
    return int(progress[0])


def check(instruction: Instruction, progress: tuple[Any, ...], action: int, world: World, known: bytes) -> Any:
    """Return the progress after a step.

    Args:
        instruction, progress: before the step.
        action: the action taken.
        world: the state after it.
        known: the cells at the start or at the agent's last attempt to drop something.
    """
    name = instruction[0]
    if name == "and":
        return tuple(
            part if is_done(clause, part) else check(clause, part, action, world, known)
            for clause, part in zip(instruction[1:], progress)
        )
    if name in JOINED:
        first = 0 if name == "then" else 1
        parts = list(progress)
        for place in (first, 1 - first):
            if not is_done(instruction[1 + place], parts[place]):
                parts[place] = check(instruction[1 + place], parts[place], action, world, known)
                if not is_done(instruction[1 + place], parts[place]):
                    break
        return tuple(parts)
    ahead, codes = world.ahead, codes_of(instruction[1])
    if name == "goto":
        return known[ahead] in codes, EMPTY
    if name == "open":
        thing = world.cells[ahead]
        return action == TOGGLE and thing in codes and THINGS[thing].state == "open", EMPTY
    before, now = progress[1], world.carried
    if name == "pickup":
        return action == PICK_UP and not before and now in codes and now != EMPTY, now
    put = action == DROP and before in codes and before != EMPTY and now == EMPTY
    return put and any(known[i] in codes_of(instruction[2]) for i in _beside(world.width, ahead)), now


def _beside(width: int, index: int) -> tuple[int, int, int, int]:
    return index + 1, index + width, index - 1, index - width


def list_options(instruction: Instruction, progress: tuple[Any, ...], world: World, last: bool = True) -> list[Option]:
    """List the interactions that advance an instruction. Because alternatives multiply, only one is listed for an
    instruction that another follows, and only the first open one of two clauses in any order.

    Args:
        instruction, progress: at present.
        world: any state with that progress.
        last: True if no instruction follows.
    """
    name = instruction[0]
    if name in JOINED:
        order = (1, 0) if name == "after" else (0, 1)
        left = [place for place in order if not is_done(instruction[1 + place], progress[place])]
        if not left:
            return []
        return list_options(instruction[1 + left[0]], progress[left[0]], world, last and len(left) == 1)
    cells, codes, carried = world.cells, codes_of(instruction[1]), world.carried
    found = [index for index, code in enumerate(cells) if code in codes]
    if name == "open":
        # An open door is shut first.
        return [Option(TOGGLE, i, last and THINGS[cells[i]].state != "open") for i in found if DOORS[cells[i]]]
    # For goto and putnext, target things count at their positions at the last drop.
    known = world.memo[1]
    if name == "goto":
        places = [index for index, code in enumerate(known) if code in codes]
        return [Option(DONE, index, last) for index in (places if last else places[:1])]
    if name == "pickup" or carried not in codes or carried == EMPTY:
        ends = last and name == "pickup"
        if carried and (found or carried in codes):
            return drop_options(world, *(found[:1] or [world.agent]))
        return [Option(PICK_UP, index, ends) for index in (found if ends else found[:1])]
    fixed = [index for index, code in enumerate(known) if code in codes_of(instruction[2])]
    free = [place for index in fixed for place in _beside(world.width, index) if not cells[place]]
    return [Option(DROP, index, last) for index in dict.fromkeys(free if last else free[:2])]
