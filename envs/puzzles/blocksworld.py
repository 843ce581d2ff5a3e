"""palaestra/Blocksworld-v0: find a plan that restacks blocks."""

from __future__ import annotations

import itertools
import string
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ...rewards import Verdict
from ...rewards.verifiers.registry import CORRECT, rejected
from ..board_picture import Cell, draw_board
from ..param_space import IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register

TABLE = "table"
_FILLERS = frozenset({"put", "move", "then", "and", "to", "on", "onto", "the"})
# Separators of moves and their parts, as in "D -> table; A -> C".
_SEPARATORS = str.maketrans(";\n->\u2192", ",,   ")


class Blocks(NamedTuple):
    """A task: the stacks at the start and in the goal, each from bottom to top; a shortest plan of moves (block,
    target); and ``most``, the number of moves allowed."""

    start: tuple[str, ...]
    goal: tuple[str, ...]
    plan: tuple[tuple[str, str], ...]
    most: int


class Blocksworld(Question):
    """Restack blocks within a limit of moves.

    Description:
        All blocks have a place in the goal, and the order of the stacks on the table does not matter. The shortest plan
        has at least blocks / 2 moves. Any legal plan within the moves allowed is right.

    Parameters:
        blocks (4 to 10, on request 2 to 20): number of blocks.
        slack (4 to 0, harder downwards, on request 0 to 20): moves allowed beyond those of a shortest plan.

    Observation:
        Text: the stacks now and in the goal, the rules, and how many moves are allowed.

    Actions:
        Text with the moves, ``D table, A C`` (D onto the table, then A onto C; words such as "move" and "onto" may be
        added), read in ``answer_format``.

    Reward:
        1 for a legal plan to the goal within the moves allowed, 0 otherwise. Moving all misplaced blocks onto the
        table, and then each onto its place, is enough if there are moves to spare, and seldom if there are none.

    Termination:
        After the first answer.

    Source:
        The blocks world of Winograd's SHRDLU (1971); shortest plans as in Gupta & Nau, "On the complexity of
        blocks-world planning", Artificial Intelligence 56, 1992: no block moves more than twice, first to the table.
    """

    answer_form = "lines"
    param_space = ParamSpace(
        [IntAxis("blocks", 4, 10, limits=(2, 20)), IntAxis("slack", 0, 4, harder="down", limits=(0, 20))]
    )

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        count = params["blocks"]
        while True:
            draws = rng.random(4 * count).tolist()
            start, goal = _draw_stacks(draws[: 2 * count]), _draw_stacks(draws[2 * count :])
            plan = shortest_plan(start, goal)
            if 2 * len(plan) >= count:
                break
        most = len(plan) + params["slack"]
        states = f"Now: {_format_stacks(start)}\nGoal: {_format_stacks(goal)}"
        return Task(
            f"Blocks stand in stacks on a table, each listed from bottom to top.\n{states}\n"
            "A move takes a block that has nothing on it and puts it onto the table or onto another such block. "
            f"Reach the goal in at most {most} moves; the order of the stacks does not matter. "
            'Answer on one line, such as "X table, Y Z" (X onto the table, then Y onto Z).',
            None,
            solution=", ".join(map(" ".join, plan)),
            content=f"{sorted(start)} {sorted(goal)}",
            data=Blocks(start, goal, tuple(plan), most),
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        start, goal, _, most = task.data
        moves = _read_moves(answer, "".join(start))
        if moves is None:
            return rejected('The answer must consist of moves such as "X table, Y Z", separated by commas.')
        if len(moves) > most:
            return Verdict(0.0, False, feedback=f"{len(moves)} moves are more than {most}.")
        below = _supports(start)
        for count, (block, target) in enumerate(moves, start=1):
            covered = set(below.values())
            if block in covered:
                return Verdict(0.0, False, feedback=f"Move {count} takes {block}, which has a block on it.")
            if target == block or (target != TABLE and target in covered):
                return Verdict(0.0, False, feedback=f"Move {count} cannot put {block} onto {target}.")
            below[block] = target
        return (
            CORRECT if below == _supports(goal) else Verdict(0.0, False, feedback="The moves do not end in the goal.")
        )

    def criteria(self, task: Task) -> list[str]:
        return [
            "Only blocks with nothing on them are moved, and only onto the table or onto such a block.",
            "At the end the stacks are those of the goal.",
            f"There are at most {task.data.most} moves.",
        ]

    def solution_steps(self, task: Task) -> list[str]:
        below, lines = _supports(task.data.start), []
        for block, target in task.data.plan:
            place = "the table" if target == TABLE else target
            home = "the table" if below[block] == TABLE else below[block]
            lines.append(f"Take {block} from {home} and put it on {place}.")
            below[block] = target
        return [*lines, self.oracle(task)]

    def heuristic_action(self, episode: Task) -> str:
        """Return a plan that moves all misplaced blocks onto the table, from the top down, then each onto its place in
        the goal."""
        start, goal = episode.data.start, episode.data.goal
        wanted, lines = _supports(goal), []
        below = _supports(start)
        for stack in start:
            right = 0
            while right < len(stack) and below[stack[right]] == wanted[stack[right]]:
                right += 1
            lines += [f"{block} {TABLE}" for block in reversed(stack[right:]) if below[block] != TABLE]
            below |= dict.fromkeys(stack[right:], TABLE)
        lines += [f"{block} {wanted[block]}" for stack in goal for block in stack if below[block] != wanted[block]]
        return ", ".join(lines) or f"{start[0][-1]} {TABLE}"

    def solver_cost(self, episode: Task) -> float:
        """Return the number of moves of the shortest plan."""
        return float(len(episode.data.plan))

    def draw(self, episode: Task) -> np.ndarray:
        stacks = [*episode.data.start, "", *episode.data.goal]
        rows = [
            [Cell(stack[y], "#e9c46a") if y < len(stack) else Cell() for stack in stacks]
            for y in reversed(range(max(map(len, stacks))))
        ]
        return draw_board([*rows, [Cell(fill="#6d597a" if stack else "#faf7f0") for stack in stacks]])


def _draw_stacks(draws: list[float]) -> tuple[str, ...]:
    """Draw stacks: blocks in random order, each onto the one before it or, with probability 0.4, onto the table."""
    count = len(draws) // 2
    order = sorted(range(count), key=draws.__getitem__)
    names = "".join([("|" if u < 0.4 else "") + string.ascii_uppercase[i] for i, u in zip(order, draws[count:])])
    return tuple(stack for stack in names.split("|") if stack)


def _format_stacks(stacks: tuple[str, ...]) -> str:
    return "; ".join(map(" ".join, stacks))


def _supports(stacks: tuple[str, ...]) -> dict[str, str]:
    """Return for each block the block or table that it stands on."""
    return {block: under for stack in stacks for under, block in itertools.pairwise([TABLE, *stack])}


def _read_moves(answer: str, names: str) -> list[tuple[str, str]] | None:
    """Return the moves (block, target) in an answer; None if a part of the answer is no move."""
    moves = []
    for part in answer.translate(_SEPARATORS).split(","):
        words = [word for word in part.split() if word.lower() not in _FILLERS]
        if len(words) != 2:
            return None
        block, target = words[0].upper(), words[1].upper()
        if len(block) != 1 or block not in names or (target != "TABLE" and (len(target) != 1 or target not in names)):
            return None
        moves.append((block, TABLE if target == "TABLE" else target))
    return moves


def shortest_plan(start: tuple[str, ...], goal: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return a plan with the fewest moves, as (block, target)."""
    wanted = _supports(goal)
    for detours in itertools.count():
        plan = next(_search_plans(_supports(start), wanted, detours), None)
        if plan is not None:
            return plan
    raise AssertionError


def _search_plans(below: dict[str, str], wanted: dict[str, str], detours: int) -> Iterator[list[tuple[str, str]]]:
    """Yield plans in which at most ``detours`` moves bring a block to a place other than its place in the goal."""
    below, plan = dict(below), []
    settled = {TABLE}
    while True:
        # Moving a block to its place in the goal is always optimal; if no such move is left, some block must make room.
        moved = False
        covered = set(below.values())
        for block, under in wanted.items():
            if block not in settled and under in settled:
                if below[block] == under:
                    settled.add(block)
                elif block not in covered and (under == TABLE or under not in covered):
                    plan.append((block, under))
                    settled.add(block)
                    below[block] = under
                    covered = set(below.values())
                else:
                    continue
                moved = True
        if not moved:
            break
    if len(settled) > len(wanted):
        yield plan
    elif detours:
        covered = set(below.values())
        for block in below:
            if block not in settled and block not in covered and below[block] != TABLE:
                for rest in _search_plans({**below, block: TABLE}, wanted, detours - 1):
                    yield [*plan, (block, TABLE), *rest]


register("palaestra/Blocksworld-v0", f"{__name__}:Blocksworld")
