"""palaestra/Counting-v0: the number of arrangements, committees or paths under some conditions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..param_space import IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register

_NAMES = (
    *("Ann", "Bob", "Cleo", "Dan", "Eve", "Finn", "Gina", "Hugo", "Ida", "Jack", "Kim"),
    *("Lea", "Max", "Nora", "Omar", "Pia", "Quin", "Rosa", "Sam", "Tess", "Uma"),
)
_GROUPS = ("teachers", "parents", "pupils")

LEAST = 100

# A question as drawn: its text, the count, the worked solution, and the numbers that identify the question.
Counted = tuple[str, int, list[str], tuple[Any, ...]]


class Counting(Question):
    """Count the ways to do something under conditions.

    Description:
        One of four kinds, all equally likely: people on chairs in a row (pairs that sit side by side, apart, or in
        order), arrangements of letters some of which are equal (first letter given, equal letters together, equal
        letters apart), committees from several groups (bounds on their members), paths on a grid (points to pass or to
        avoid). Every condition changes the count, which is at least 100.

    Parameters:
        size (7 to 12, on request up to 18): the largest number of people on chairs, of members of a group, and width
            and height of the grid; letters may be up to two more. Each is at least about half of ``size``.
        conditions (1 to 3): number of conditions to be met.

    Observation:
        Text such as ``In how many different orders can the 6 letters A A B C C C be written ...?``

    Actions:
        Text with one integer, perhaps followed by the counted noun (``120 ways``), read in ``answer_format``.

    Reward:
        1 for the exact count, 0 otherwise. The commonest count, 120, is right by chance in 0.04 of the easiest tasks.

    Termination:
        After the first answer.

    Source:
        School combinatorics; generated here.
    """

    param_space = ParamSpace([IntAxis("size", 7, 12, limits=(7, 18)), IntAxis("conditions", 1, 3)])
    verifier = "integer"

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        chosen = _KINDS[int(rng.random() * len(_KINDS))]
        while True:
            counted = chosen(params["size"], params["conditions"], iter(rng.random(48).tolist()))
            if counted is not None and counted[1] >= LEAST:
                break
        question, count, steps, numbers = counted
        content = f"{chosen.__name__} {numbers}"
        key = (
            f"{chosen.__name__} {_SYMMETRY_KEYS[chosen.__name__](*numbers)}"
            if chosen.__name__ in _SYMMETRY_KEYS
            else ""
        )
        return Task(f"{question} Answer with an integer.", count, content=content, split_key=key, data=steps)

    def solver_cost(self, episode: Task) -> float:
        """Return the length of the worked solution, in characters."""
        return float(sum(map(len, self.solution_steps(episode))))

    def solution_steps(self, task: Task) -> list[str]:
        """List the cases or stages of the count."""
        return [*task.data, self.oracle(task)]


def draw_below(draws: Iterator[float], bound: int) -> int:
    """Turn the next draw, in [0, 1), into a whole number from 0 to ``bound`` - 1."""
    return int(next(draws) * bound)


def _join_words(parts: list[str], last: str = "and") -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {last} {parts[-1]}"


def _chairs(size: int, conditions: int, draws: Iterator[float]) -> Counted | None:
    """Make a question on people on chairs, with conditions on disjoint pairs of them."""
    people = max(2 * conditions, size - 2 + draw_below(draws, 3))
    chairs = people + draw_below(draws, 6)
    start = draw_below(draws, len(_NAMES))
    names = [_NAMES[(start + i) % len(_NAMES)] for i in range(people)]
    kinds = sorted(draw_below(draws, 3) for _ in range(conditions))
    together, apart, ordered = (kinds.count(kind) for kind in range(3))
    texts = ("{} and {} sit on neighbouring chairs", "{} and {} do not sit on neighbouring chairs")
    texts = (*texts, "{} sits somewhere to the left of {}")
    wishes = [texts[kind].format(*names[2 * i : 2 * i + 2]) for i, kind in enumerate(kinds)]
    empty = chairs - people
    # A pair side by side is one block in two orders. Pairs apart are counted by inclusion and exclusion. Where a pair
    # has an order, both orders are equally frequent.
    terms = []
    for joined in range(apart + 1):
        blocks = together + joined
        terms.append((-1) ** joined * math.comb(apart, joined) * 2**blocks * math.factorial(chairs - blocks))
    count = sum(terms) // math.factorial(empty) // 2**ordered
    parts = [term // math.factorial(empty) for term in terms]
    steps = []
    for joined, part in enumerate(parts):
        blocks, ways = together + joined, math.comb(apart, joined)
        pairs = "1 pair" if blocks == 1 else f"{blocks} pairs"
        choice = f"{ways} * " if ways > 1 else ""
        steps.append(f"{pairs} held together: {choice}2^{blocks} * {chairs - blocks}! / {empty}! = {abs(part)}")
    if apart:
        signed = "".join(f" {'+' if part > 0 else '-'} {abs(part)}" for part in parts[1:])
        steps.append(f"{parts[0]}{signed} = {sum(parts)}")
    if ordered:
        steps.append(f"{sum(parts)} / 2^{ordered} = {count}")
    question = (
        f"In how many ways can {people} people, {_join_words(names)}, sit on {chairs} chairs in a row, one person to a "
        f"chair, so that {_join_words(wishes)}?"
    )
    return question, count, steps, (people, chairs, together, apart, ordered)


def _letters(size: int, conditions: int, draws: Iterator[float]) -> Counted | None:
    """Make a question on arrangements of letters: one letter first, all of one together, no two of one side by side."""
    meant = [[0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2]]
    among = [kinds for kinds in meant if len(kinds) == conditions]
    kinds = among[draw_below(draws, len(among))]
    counts = [(1 if kind == 0 else 2) + draw_below(draws, 3) for kind in kinds]
    length = size - 1 + draw_below(draws, 4)
    while sum(counts) < length:
        counts.append(min(1 + draw_below(draws, 3), length - sum(counts)))
    start = min(draw_below(draws, 20) // 2, 26 - len(counts))
    names = [chr(ord("A") + start + i) for i in range(len(counts))]
    place = dict(zip(kinds, range(len(kinds))))
    wishes, steps = [], []
    rest = list(counts)
    if 0 in place:
        rest[place[0]] -= 1
        wishes.append(f"the first letter is {names[place[0]]}")
        steps.append(f"The first letter is {names[place[0]]}; {sum(rest)} letters are left.")
    if 1 in place:
        wishes.append(f"all letters {names[place[1]]} stand next to one another")
        rest[place[1]] = 1
        steps.append(f"The letters {names[place[1]]} count as one.")
    apart = 0
    if 2 in place:
        wishes.append(f"no two letters {names[place[2]]} stand next to one another")
        apart, rest[place[2]] = rest[place[2]], 0
        steps.append(f"The {apart} letters {names[place[2]]} are put into gaps afterwards.")
    others = sum(rest)
    count = math.factorial(others) // math.prod(map(math.factorial, rest))
    repeats = [f"{number}!" for number in rest if number > 1]
    divided = f" / {' / '.join(repeats)}" if repeats else ""
    steps.append(f"The {others} to be arranged: {others}!{divided} = {count}")
    if apart:
        gaps = math.comb(others + 1, apart)
        steps += [f"Gaps: C({others + 1}, {apart}) = {gaps}", f"{count} * {gaps} = {count * gaps}"]
        count *= gaps
    letters = " ".join(name for name, number in zip(names, counts) for _ in range(number))
    question = (
        f"In how many different orders can the {sum(counts)} letters {letters} be written so that "
        f"{_join_words(wishes)}? Equal letters cannot be told apart."
    )
    free = sorted(counts[len(kinds) :])
    return question, count, steps, (kinds, counts[: len(kinds)], free)


def _committee(size: int, conditions: int, draws: Iterator[float]) -> Counted | None:
    """Make a question on committees from groups of different people, with bounds on the members from some groups."""
    groups = 2 if conditions == 1 else 3
    sizes = [size // 2 + 1 + draw_below(draws, size - size // 2) for _ in range(groups)]
    members = groups + 1 + draw_below(draws, max(1, size // 2))
    # For each group with a condition: how many of its members may serve.
    kinds = [draw_below(draws, 2 if i else 3) for i in range(conditions)]
    bounds = [1 + draw_below(draws, max(1, members - groups + 1)) for _ in range(conditions)]
    texts = ("at least {} of them {}", "at most {} of them {}", "exactly {} of them {}")
    free = [range(min(number, members) + 1) for number in sizes]
    allowed = list(free)
    for i, (kind, bound) in enumerate(zip(kinds, bounds)):
        low, high = (bound if kind != 1 else 0), (bound if kind else members)
        allowed[i] = range(low, min(high, sizes[i], members) + 1)
    cases = _list_cases(allowed, members)
    if not cases or any(
        _list_cases([*allowed[:i], free[i], *allowed[i + 1 :]], members) == cases for i in range(conditions)
    ):
        return None
    counts = [math.prod(map(math.comb, sizes, case)) for case in cases]
    count = sum(counts)
    steps = [
        f"{' + '.join(map(str, case))}: "
        + " * ".join(f"C({number}, {chosen})" for number, chosen in zip(sizes, case))
        + f" = {ways}"
        for case, ways in zip(cases, counts)
    ]
    if len(counts) > 1:
        steps.append(f"{' + '.join(map(str, counts))} = {count}")
    wishes = [texts[kind].format(bound, _GROUPS[i]) for i, (kind, bound) in enumerate(zip(kinds, bounds))]
    have = _join_words([f"{number} {name}" for number, name in zip(sizes, _GROUPS)])
    question = (
        f"From {have}, all different people, {members} are chosen, {_join_words(wishes)}. How many choices are there?"
    )
    return question, count, steps, (sizes, members, kinds, bounds)


def _list_cases(allowed: list[range], members: int) -> list[tuple[int, ...]]:
    """List the ways to split ``members`` over the groups with allowed numbers only."""
    cases = ((*case, members - sum(case)) for case in itertools.product(*allowed[:-1]))
    return [case for case in cases if case[-1] in allowed[-1]]


def _paths(size: int, conditions: int, draws: Iterator[float]) -> Counted | None:
    """Make a question on shortest paths on a grid, through some points and avoiding others."""
    width, height = (size // 2 + 1 + draw_below(draws, size - size // 2) for _ in range(2))
    inner = (width + 1) * (height + 1)
    points: dict[tuple[int, int], bool] = {}
    for _ in range(conditions):
        y, x = divmod(draw_below(draws, inner), width + 1)
        points[x, y] = next(draws) < 0.4
    if len(points) < conditions or (0, 0) in points or (width, height) in points:
        return None
    through = sorted(point for point, passed in points.items() if passed)
    past = sorted(point for point, passed in points.items() if not passed)
    ways = _count_ways(width, height, points)
    count = ways[-1][-1]
    fewer = ({other: points[other] for other in points if other != point} for point in points)
    if any(_count_ways(width, height, kept)[-1][-1] == count for kept in fewer):
        return None
    wishes = []
    if through:
        wishes.append(f"pass through {_join_words([f'({x}, {y})' for x, y in through])}")
    if past:
        wishes.append(f"do not pass through {_join_words([f'({x}, {y})' for x, y in past], 'or')}")
    question = (
        f"A path goes from (0, 0) to ({width}, {height}) in steps of 1 to the right or 1 up. How many such paths "
        f"{_join_words(wishes)}?"
    )
    steps = [f"Ways to (0, {y}) ... ({width}, {y}): {' '.join(map(str, row))}" for y, row in enumerate(ways)]
    return question, count, steps, (width, height, through, past)


def _count_ways(width: int, height: int, points: dict[tuple[int, int], bool]) -> list[list[int]]:
    """Count the paths from (0, 0) to each point (x, y), in rows of equal y, through the points marked True and avoiding
    those marked False."""
    ways: list[list[int]] = []
    above = [1] + [0] * width
    for y in range(height + 1):
        # A path that passes a point has its earlier points below and left of it and its later ones above and right of
        # it.
        low = max([a for (a, b), passed in points.items() if passed and b < y], default=0)
        high = min([a for (a, b), passed in points.items() if passed and y < b], default=width)
        barred = [a for (a, b), passed in points.items() if not passed and b == y]
        row, left = [0] * (width + 1), 0
        for x in range(low, high + 1):
            left = 0 if x in barred else left + above[x]
            row[x] = left
        ways.append(row)
        above = row
    return ways


def _committee_key(sizes: list[int], members: int, kinds: list[int], bounds: list[int]) -> str:
    """Return a key of a committee question that does not depend on the names of the groups."""
    bound = sorted(zip(sizes, kinds, bounds))
    return f"{bound} {sorted(sizes[len(kinds) :])} {members}"


def _paths_key(width: int, height: int, through: list[tuple[int, int]], past: list[tuple[int, int]]) -> str:
    """Return a key of a path question that is equal for all reflections of its grid."""
    images = []
    for turned in (False, True):
        for back in (False, True):
            points = [
                sorted([(width - x, height - y) if back else (x, y) for x, y in some]) for some in (through, past)
            ]
            flipped = [sorted([(y, x) for x, y in some]) for some in points] if turned else points
            images.append((height, width, *flipped) if turned else (width, height, *flipped))
    return str(min(images))


# Split keys of tasks that are equal up to names or a reflection, by kind; the names of the functions are part of task
# contents, so that renaming them would change all task ids.
_SYMMETRY_KEYS = {"_committee": _committee_key, "_paths": _paths_key}
_KINDS = (_chairs, _letters, _committee, _paths)

register("palaestra/Counting-v0", f"{__name__}:Counting")
