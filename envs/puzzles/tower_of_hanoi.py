"""palaestra/TowerOfHanoi-v0: move disks from one arrangement to another."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

from ...rewards import Verdict
from ...rewards.verifiers.registry import CORRECT, rejected
from ..board_picture import Cell, draw_board
from ..param_space import IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register

_PEGS = "ABC"
# Separators of pegs, as in "A->C, A to B".
_SEPARATORS = str.maketrans("", "", " \t\n,;->\u2192[]")


class Disks(NamedTuple):
    """A task: the peg (0, 1 or 2) of each disk, from the smallest disk to the largest, at the start and in the goal;
    and ``most``, the number of moves allowed."""

    start: tuple[int, ...]
    goal: tuple[int, ...]
    most: int


class TowerOfHanoi(Question):
    """Move disks between three pegs, from one legal arrangement to another.

    Description:
        Both arrangements are random. They are at least 2**(disks - 2) moves apart. Any legal plan within the moves
        allowed is right.

    Parameters:
        disks (3 to 8, on request up to 11): number of disks.
        slack (8 to 0, harder downwards, on request 0 to 20): moves allowed beyond those of a shortest plan.

    Observation:
        Text: both arrangements, the rules, and how many moves are allowed.

    Actions:
        Text with the moves, ``AC BA`` (from A to C, then from B to A), read in ``answer_format``.

    Reward:
        1 for a legal plan to the goal within the moves allowed, 0 otherwise. Random legal moves, as many as a shortest
        plan has and never the same disk twice in a row, solve 0.15 of the easiest tasks.

    Termination:
        After the first answer.

    Source:
        Edouard Lucas' puzzle of 1883; the fewest moves between any two arrangements as in Hinz, "The Tower of Hanoi",
        L'Enseignement Mathematique 35, 1989: the largest disk that must move does so once or twice.
    """

    answer_form = "lines"
    max_answer = 8192
    param_space = ParamSpace(
        [IntAxis("disks", 3, 8, limits=(3, 11)), IntAxis("slack", 0, 8, harder="down", limits=(0, 20))]
    )

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        disks = params["disks"]
        fewest = 0
        start = goal = ()
        while fewest < 2 ** (disks - 2):
            pegs = [int(3 * u) for u in rng.random(2 * disks).tolist()]
            start, goal = tuple(pegs[:disks]), tuple(pegs[disks:])
            fewest = _count_moves(start, goal)[0]
        most = fewest + params["slack"]
        states = f"Now: {_format_pegs(start)}.\nGoal: {_format_pegs(goal)}."
        return Task(
            f"Tower of Hanoi with disks 1 (smallest) to {disks}; each peg is listed from bottom to top.\n{states}\n"
            "A move takes the top disk of a peg to another peg, never onto a smaller disk. "
            f'Answer with at most {most} moves on one line, such as "AC CA" (A to C, then C to A).',
            None,
            content=states,
            split_key=str(min(_rename_pegs(start + goal), _rename_pegs(goal + start))),
            data=Disks(start, goal, most),
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        start, goal, most = task.data
        moves = answer.upper().replace("TO", "").translate(_SEPARATORS)
        if not moves or len(moves) % 2 or moves.strip(_PEGS):
            return rejected('The answer must consist of moves such as "AC BA", each from one peg to another.')
        if len(moves) // 2 > most:
            return Verdict(0.0, False, feedback=f"{len(moves) // 2} moves are more than {most}.")
        pegs = _list_stacks(start)
        for count, (source, target) in enumerate(zip(moves[::2], moves[1::2]), start=1):
            takes, gives = pegs[_PEGS.index(source)], pegs[_PEGS.index(target)]
            if not takes:
                return Verdict(0.0, False, feedback=f"Move {count} takes a disk from {source}, which is empty.")
            disk = takes.pop()
            if source == target or (gives and gives[-1] < disk):
                return Verdict(0.0, False, feedback=f"Move {count} cannot bring disk {disk} to {target}.")
            gives.append(disk)
        return (
            CORRECT if pegs == _list_stacks(goal) else Verdict(0.0, False, feedback="The moves do not end in the goal.")
        )

    def oracle(self, task: Task) -> str:
        return " ".join(
            _PEGS[source] + _PEGS[target] for _, source, target in _find_plan(task.data.start, task.data.goal)
        )

    def criteria(self, task: Task) -> list[str]:
        return [
            "Every move takes the top disk of a peg.",
            "No disk is ever put onto a smaller one.",
            "At the end every peg is as in the goal.",
            f"There are at most {task.data.most} moves.",
        ]

    def solution_steps(self, task: Task) -> list[str]:
        moves = _find_plan(task.data.start, task.data.goal)
        return [f"Disk {disk} from {_PEGS[a]} to {_PEGS[b]}." for disk, a, b in moves] + [self.oracle(task)]

    def random_action(self, episode: Task, rng: np.random.Generator) -> str:
        """Return as many random legal moves as the shortest plan has, without moving the same disk twice in a row if
        possible."""
        start, goal, _ = episode.data
        pegs, last, moves = _list_stacks(start), 0, []
        while len(moves) < _count_moves(start, goal)[0]:
            legal = [
                (a, b) for a in range(3) for b in range(3) if pegs[a] and (not pegs[b] or pegs[b][-1] > pegs[a][-1])
            ]
            ways = [way for way in legal if pegs[way[0]][-1] != last] or legal
            source, target = ways[int(rng.integers(len(ways)))]
            last = pegs[source].pop()
            pegs[target].append(last)
            moves.append(_PEGS[source] + _PEGS[target])
        return " ".join(moves)

    def solver_cost(self, episode: Task) -> float:
        """Return the number of moves of the shortest plan."""
        return float(_count_moves(episode.data.start, episode.data.goal)[0])

    def draw(self, episode: Task) -> np.ndarray:
        start, goal, _ = episode.data
        columns = [*_list_stacks(start), [], *_list_stacks(goal)]
        colours = ("#e76f51", "#f4a261", "#e9c46a", "#8ab17d", "#2a9d8f", "#287271", "#6d597a", "#b56576")
        rows = []
        for height in reversed(range(len(start))):
            disks = [stack[height] if height < len(stack) else 0 for stack in columns]
            rows.append([Cell(str(disk), colours[disk - 1]) if disk else Cell() for disk in disks])
        return draw_board([*rows, [Cell(name) for name in "ABC ABC"]])


def _format_pegs(pegs: tuple[int, ...]) -> str:
    return ", ".join(f"{name}: {' '.join(map(str, stack)) or '-'}" for name, stack in zip(_PEGS, _list_stacks(pegs)))


def _rename_pegs(pegs: tuple[int, ...]) -> list[int]:
    """Rename the pegs in the order in which they first occur, so that arrangements that differ only in the names of
    pegs become equal."""
    order = list(dict.fromkeys(pegs))
    return [order.index(peg) for peg in pegs]


def _list_stacks(pegs: tuple[int, ...]) -> list[list[int]]:
    """Return the disks on each peg, from bottom to top."""
    stacks: list[list[int]] = [[], [], []]
    for disk in range(len(pegs), 0, -1):
        stacks[pegs[disk - 1]].append(disk)
    return stacks


def _count_moves(start: tuple[int, ...], goal: tuple[int, ...]) -> tuple[int, int, bool]:
    """Return (fewest moves from ``start`` to ``goal``, number of the largest disk that must move, True if this disk
    moves twice)."""
    disks = len(start)
    while disks and start[disks - 1] == goal[disks - 1]:
        disks -= 1
    if not disks:
        return 0, 0, False
    a, b = start[disks - 1], goal[disks - 1]
    smaller, c = disks - 1, 3 - a - b
    once = _count_gathering_moves(start, smaller, c) + 1 + _count_gathering_moves(goal, smaller, c)
    # The largest disk goes by way of c: the smaller disks go to b, then to a, then to their own places.
    twice = _count_gathering_moves(start, smaller, b) + 2**smaller + 1 + _count_gathering_moves(goal, smaller, a)
    return min(once, twice), disks, twice < once


def _count_gathering_moves(pegs: tuple[int, ...], disks: int, target: int) -> int:
    """Return the fewest moves that bring the smallest ``disks`` disks onto the peg ``target``."""
    moves = 0
    for disk in reversed(range(disks)):
        if pegs[disk] != target:
            moves += 2**disk
            target = 3 - pegs[disk] - target
    return moves


def _find_plan(start: tuple[int, ...], goal: tuple[int, ...]) -> list[tuple[int, int, int]]:
    """Return a shortest plan, as moves (disk counted from 1, source peg, target peg)."""
    _, disks, twice = _count_moves(start, goal)
    if not disks:
        return []
    a, b = start[disks - 1], goal[disks - 1]
    c = 3 - a - b
    stops = [a, c, b] if twice else [a, b]
    now, moves = list(start), []
    for here, there in itertools.pairwise(stops):
        _gather_disks(now, disks - 1, 3 - here - there, moves)
        moves.append((disks, here, there))
    # The last part is found backwards from the goal.
    end: list[tuple[int, int, int]] = []
    _gather_disks(list(goal), disks - 1, 3 - stops[-2] - b, end)
    return moves + [(disk, there, here) for disk, here, there in reversed(end)]


def _gather_disks(pegs: list[int], disks: int, target: int, moves: list[tuple[int, int, int]]) -> None:
    """Bring the smallest ``disks`` disks onto the peg ``target``: update ``pegs`` and append to ``moves``."""
    for disk in reversed(range(disks)):
        if pegs[disk] != target:
            _gather_disks(pegs, disk, 3 - pegs[disk] - target, moves)
            moves.append((disk + 1, pegs[disk], target))
            pegs[disk] = target
            _gather_disks(pegs, disk, target, moves)
            return


register("palaestra/TowerOfHanoi-v0", f"{__name__}:TowerOfHanoi")
