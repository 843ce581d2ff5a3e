"""BabyAI's instructions: clauses (go to, pick up, open, put next to), their composition, wording and verification.

An instruction consists of nested tuples, so that a `World` with one is hashable: ``("goto", what)``,
``("pickup", what)``, ``("open", what)``, ``("putnext", what, what)``, and ``("and" | "then" | "after", instruction,
instruction)``. ``what`` describes things: (kind or "", colour or ""), or (kind or "", colour or "", place) with one of
`PLACES` relative to the agent's start. ``("strict", instruction)`` makes a wrong door, thing or order a failure.
``World.memo`` is a `Memo`: the progress, and the things that each description means. All follow BabyAI's verifier
(Chevalier-Boisvert et al., arXiv 1810.08272, as shipped with MiniGrid), with its memory of positions at the last drop.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from .cells import EMPTY, PORTABLE, THINGS
from .grid_rules import DOORS
from .grid_world import DROP, PICK_UP, TOGGLE, World, beside

Instruction = tuple[Any, ...]
CLAUSES = ("goto", "pickup", "open", "putnext")
JOINED = {"and": " and ", "then": ", then ", "after": " after you "}
PLACES = {"left": "on your left", "right": "on your right", "front": "in front of you", "behind": "behind you"}
DONE, OPEN, FAILED = 1, 0, -1
"""States of a clause."""
CARRIED = -1
"""Position of a thing that the agent carries."""
NOTHING, OTHER, MEANT = range(3)
"""The thing carried at the last check of a clause: none, one that the clause does not mean, one that it means."""
_OPEN_DOORS = bytes(thing.kind == "door" and thing.state == "open" for thing in THINGS)


class Memo(NamedTuple):
    """Memory of an episode.

    Args:
        progress: (state, thing carried at the last check) of a clause; (progress, progress) of two joined ones, with
            a third item once a strict order has been broken.
        marks: for each description of the instruction, in order, the present positions of the things that it means.
        known: the positions at the start or at the last attempt to drop something, without the carried thing.
    """

    progress: tuple[Any, ...]
    marks: tuple[frozenset[int], ...]
    known: tuple[frozenset[int], ...]


class Clause(NamedTuple):
    """A clause, or two joined instructions.

    Args:
        name: one of `CLAUSES` or `JOINED`.
        strict: True if a wrong door, thing or order is a failure.
        parts: numbers of the clause's descriptions, or the two joined `Clause`s.
    """

    name: str
    strict: bool
    parts: tuple[Any, ...]


@functools.lru_cache(maxsize=512)
def parse(instruction: Instruction) -> tuple[Clause, tuple[tuple[str, ...], ...]]:
    """Return an instruction as a `Clause`, and its descriptions in order."""
    whats: list[tuple[str, ...]] = []

    def read(part: Instruction, strict: bool = False) -> Clause:
        name, *rest = part
        if name == "strict":
            return read(rest[0], strict=True)
        if name in JOINED:
            return Clause(name, strict, tuple(map(read, rest)))
        whats.extend(rest)
        return Clause(name, strict, tuple(range(len(whats) - len(rest), len(whats))))

    return read(instruction), tuple(whats)


@functools.lru_cache(maxsize=512)
def codes_of(what: tuple[str, ...]) -> bytes:
    """Return the codes of all things that match a description, with doors in any state."""
    kind, colour = what[:2]
    return bytes(
        code
        for code, thing in enumerate(THINGS)
        if (thing.kind == kind or (not kind and thing.kind in (*PORTABLE, "door"))) and colour in ("", thing.colour)
    )


def say(instruction: Instruction, marks: tuple[frozenset[int], ...]) -> str:
    """Return the instruction in BabyAI's words, given the marks at the start: "the" if exactly one thing is meant, else
    "a"."""
    root, whats = parse(instruction)

    def name_what(number: int) -> str:
        kind, colour, *place = whats[number]
        words = ["the" if len(marks[number]) < 2 else "a", colour, kind or "object", *(PLACES[p] for p in place)]
        return " ".join(filter(None, words))

    def say_clause(clause: Clause) -> str:
        if clause.name in JOINED:
            return JOINED[clause.name].join(map(say_clause, clause.parts))
        verb = {"goto": "go to", "pickup": "pick up", "open": "open", "putnext": "put"}[clause.name]
        return f"{verb} {' next to '.join(map(name_what, clause.parts))}"

    return say_clause(root)


def count_clauses(clause: Clause) -> int:
    return sum(map(count_clauses, clause.parts)) if clause.name in JOINED else 1


def count_navigations(clause: Clause) -> int:
    """Count the walks through the maze in a solution; BabyAI's step limit grows with this number."""
    if clause.name in JOINED:
        return sum(map(count_navigations, clause.parts))
    return 2 if clause.name == "putnext" else 1


def begin(clause: Clause) -> tuple[Any, ...]:
    """Return the progress at the start."""
    if clause.name in JOINED:
        return begin(clause.parts[0]), begin(clause.parts[1])
    return OPEN, NOTHING


def mark(world: World, instruction: Instruction) -> Memo:
    """Return the memo at the start of a level whose descriptions have no places."""
    root, whats = parse(instruction)
    marks = tuple(frozenset(i for i, code in enumerate(world.cells) if code in codes_of(what)) for what in whats)
    return Memo(begin(root), marks, marks)


def is_done(clause: Clause, progress: tuple[Any, ...]) -> bool:
    if clause.name in JOINED:
        return is_done(clause.parts[0], progress[0]) and is_done(clause.parts[1], progress[1])
    return progress[0] == DONE


def is_failed(clause: Clause, progress: tuple[Any, ...]) -> bool:
    """Return True if the instruction has failed; the parts of "and" may fail and be tried again."""
    if clause.name not in JOINED:
        return progress[0] == FAILED
    return clause.name != "and" and (len(progress) > 2 or any(map(is_failed, clause.parts, progress)))


def count_done(clause: Clause, progress: tuple[Any, ...]) -> int:
    """Return the number of completed clauses."""
    if clause.name in JOINED:
        return sum(map(count_done, clause.parts, progress))
    return int(progress[0] == DONE)


def move_marks(memo: Memo, before: World, action: int, after: World) -> Memo:
    """Return the memo with the positions after an action, with the progress unchanged."""
    progress, marks, known = memo
    ahead = before.ahead
    if action == DROP:
        if after is not before:
            marks = tuple((at - {CARRIED}) | {ahead} if CARRIED in at else at for at in marks)
        return Memo(progress, marks, tuple(at - {CARRIED} for at in marks))
    if after is before:
        return memo
    if action == PICK_UP:
        marks = tuple((at - {ahead}) | {CARRIED} if ahead in at else at for at in marks)
    elif action == TOGGLE and not DOORS[before.cells[ahead]]:
        marks = tuple(at - {ahead} for at in marks)
    return Memo(progress, marks, known)


def check(clause: Clause, progress: tuple[Any, ...], action: int, world: World, memo: Memo) -> tuple[Any, ...]:
    """Return the progress after a step.

    Args:
        clause: the instruction.
        progress: the progress before the step.
        action: the action taken.
        world: the state after the action.
        memo: the memo with the positions after the action.
    """
    name, strict, parts = clause
    if name in JOINED:
        return _check_joined(clause, progress, action, world, memo)
    marks, ahead = memo.marks[parts[0]], world.ahead
    if name == "goto":
        return (DONE if ahead in memo.known[parts[0]] else OPEN), NOTHING
    if name == "open":
        if action != TOGGLE or not DOORS[world.cells[ahead]]:
            return OPEN, NOTHING
        if ahead in marks and _OPEN_DOORS[world.cells[ahead]]:
            return DONE, NOTHING
        return (FAILED if strict else OPEN), NOTHING
    before, now = progress[1], NOTHING if world.carried == EMPTY else MEANT if CARRIED in marks else OTHER
    if action == PICK_UP:
        if name == "pickup" and before == NOTHING and now == MEANT:
            return DONE, now
        if strict and now:
            return FAILED, now
    put = action == DROP and name == "putnext" and before == MEANT and not now
    if put and any(index in memo.known[parts[1]] for index in beside(world.width, ahead)):
        return DONE, now
    return OPEN, now


def _check_joined(clause: Clause, progress: tuple[Any, ...], action: int, world: World, memo: Memo) -> tuple[Any, ...]:
    name, strict, both = clause
    if name == "and":
        return tuple(
            part if is_done(one, part) else check(one, part, action, world, memo) for one, part in zip(both, progress)
        )
    first = 0 if name == "then" else 1
    found = list(progress[:2])
    for place in (first, 1 - first):
        if not is_done(both[place], found[place]):
            found[place] = check(both[place], found[place], action, world, memo)
            if not is_done(both[place], found[place]):
                break
    if strict and not is_done(both[first], found[first]):
        found[1 - first] = check(both[1 - first], found[1 - first], action, world, memo)
        if is_done(both[1 - first], found[1 - first]):
            found.append(True)
    return tuple(found)
