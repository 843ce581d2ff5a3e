"""palaestra/ShortestPath-v0: find a shortest path in a weighted graph."""

from __future__ import annotations

import heapq
import itertools
import re
import string
from typing import Any, NamedTuple

import numpy as np

from ...rewards import Verdict
from ...rewards.verifiers.registry import CORRECT, rejected
from ..param_space import IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register

# Separators of places, as in "A -> C, F" and "A to C to F".
_SEPARATORS = str.maketrans(dict.fromkeys(",;->\u2192[]()", " "))
_TO = re.compile(r"\\(?:right|longright)arrow|\\to\b|\bto\b", re.IGNORECASE)


# A to Z, then A1 to Z1, A2 to Z2 and so on.
NAMES = [letter + number for number in ("", "1", "2", "3") for letter in string.ascii_uppercase]


# From this many places on, goals are chosen to which no path over the fewest roads is a shortest one. `_ROAD` is longer
# than any path: added to the length of each road, it makes paths over fewer roads shorter.
MANY, _ROAD = 9, 10_000_000


class Roads(NamedTuple):
    """A task: ``lengths[place][neighbour]``, the length of each road; start and goal; and ``least``, the length of a
    shortest path."""

    lengths: dict[str, dict[str, int]]
    start: str
    goal: str
    least: int


class ShortestPath(Question):
    """Find a shortest path between two places.

    Description:
        Every place can be reached from every other. A direct road between start and goal is never a shortest path; with
        nine places or more, goals are chosen, if there are any, to which no path over the fewest roads is a shortest
        one. Any of several shortest paths is right.

    Parameters:
        places (5 to 26, on request 4 to 100): number of places.
        degree (2 to 4, on request up to 6): average number of roads at a place, as far as there are enough neighbours.
        longest (9 to 99, log-spaced, on request 4 to 9999): the greatest length that a road may have; the least is 1.

    Observation:
        Text: the roads with their lengths, ``A-C 4, B-C 9``, and the two places.

    Actions:
        Text with the places on the path in order, ``A C F``, read in ``answer_format``.

    Reward:
        1 for a shortest path along the roads, 0 otherwise. A path over the fewest roads is a shortest one in 0.9 of the
        easiest tasks, and in none of the hardest.

    Termination:
        After the first answer.

    Source:
        The shortest path problem, solved as in Dijkstra, "A note on two problems in connexion with graphs", 1959.
    """

    answer_form = "lines"
    param_space = ParamSpace(
        [
            IntAxis("places", 5, 26, limits=(4, 100)),
            IntAxis("degree", 2, 4, limits=(2, 6)),
            IntAxis("longest", 9, 99, log=True, limits=(4, 9999)),
        ]
    )

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        places, longest = params["places"], params["longest"]
        count = min(places * params["degree"], places * (places - 1)) // 2
        names = NAMES[:places]
        while True:
            draws = iter(rng.random(3 * places + 6 * count).tolist())
            start, toss = names[int(next(draws) * places)], next(draws)
            order = sorted(names, key=dict(zip(names, draws)).__getitem__)
            lengths: dict[str, dict[str, int]] = {name: {} for name in names}
            # First a random tree over all places, then random roads.
            made = 0
            for last in range(1, places):
                a, b = order[last], order[int(next(draws) * last)]
                lengths[a][b] = lengths[b][a] = 1 + int(next(draws) * longest)
                made += 1
            for u, v, w in zip(draws, draws, draws):
                if made >= count:
                    break
                a, b = names[int(u * places)], names[int(v * places)]
                if a != b and b not in lengths[a]:
                    lengths[a][b] = lengths[b][a] = 1 + int(w * longest)
                    made += 1
            settled = dijkstra(lengths, start)
            direct = lengths[start]
            far = [name for name, (length, _) in settled.items() if length and direct.get(name, length + 1) > length]
            if made >= count and far:
                break
        if places >= MANY:
            by_roads = dijkstra(_roads_first(lengths), start)
            far = [name for name in far if by_roads[name][0] % _ROAD > settled[name][0]] or far
        goal = far[int(toss * len(far))]
        roads = ", ".join(f"{a}-{b} {lengths[a][b]}" for a in names for b in sorted(lengths[a]) if a < b)
        return Task(
            f"Roads between places, with their lengths (both ways): {roads}.\n"
            f"Find a shortest path from {start} to {goal}. "
            "Answer with all places on it in order, separated by spaces, both ends included.",
            None,
            solution=" ".join(_trace_path(settled, goal)),
            content=f"{start}{goal}: {roads}",
            split_key=f"{sorted((start, goal))}: {roads}",
            data=Roads(lengths, start, goal, settled[goal][0]),
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        lengths, start, goal, least = task.data
        path = _TO.sub(" ", answer).upper().translate(_SEPARATORS).split()
        if len(path) == 1:
            path = list(path[0])
        if len(path) < 2 or any(place not in lengths for place in path):
            return rejected(f"The answer must name the places on the path in order, such as {start} ... {goal}.")
        if path[0] != start or path[-1] != goal:
            return Verdict(0.0, False, feedback=f"The path does not lead from {start} to {goal}.")
        total = 0
        for a, b in itertools.pairwise(path):
            if b not in lengths[a]:
                return Verdict(0.0, False, feedback=f"There is no road from {a} to {b}.")
            total += lengths[a][b]
        return CORRECT if total == least else Verdict(0.0, False, feedback=f"A path of length {total} is not shortest.")

    def criteria(self, task: Task) -> list[str]:
        roads = task.data
        return [
            f"The path begins at {roads.start} and ends at {roads.goal}.",
            "Any two places in a row are joined by a road.",
            f"Its length is {roads.least}, as no path is shorter.",
        ]

    def solution_steps(self, task: Task) -> list[str]:
        lengths, start, goal, _ = task.data
        lines = [
            f"{name} is {length} from {start}, coming from {before}."
            for name, (length, before) in dijkstra(lengths, start, goal).items()
            if before
        ]
        return [*lines, self.oracle(task)]

    def heuristic_action(self, episode: Task) -> str:
        """Return the shortest of the paths over the fewest roads."""
        lengths, start, goal, _ = episode.data
        return " ".join(_trace_path(dijkstra(_roads_first(lengths), start, goal), goal))

    def solver_cost(self, episode: Task) -> float:
        """Return the number of roads that Dijkstra's algorithm examines before it settles the goal."""
        lengths, start, goal, _ = episode.data
        return float(sum(len(lengths[name]) for name in dijkstra(lengths, start, goal)))


def _roads_first(lengths: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    """Return ``lengths`` changed such that a path over fewer roads is always shorter than one over more roads."""
    return {name: {other: length + _ROAD for other, length in roads.items()} for name, roads in lengths.items()}


def dijkstra(lengths: dict[str, dict[str, int]], start: str, goal: str = "") -> dict[str, tuple[int, str]]:
    """Return place -> (distance from ``start``, place before it on a shortest path), from the nearest place on, up to
    ``goal`` if given. The place before ``start`` is ""."""
    settled: dict[str, tuple[int, str]] = {}
    queue = [(0, start, "")]
    while queue:
        length, name, before = heapq.heappop(queue)
        if name not in settled:
            settled[name] = (length, before)
            if name == goal:
                break
            for other, road in lengths[name].items():
                if other not in settled:
                    heapq.heappush(queue, (length + road, other, name))
    return settled


def _trace_path(settled: dict[str, tuple[int, str]], goal: str) -> list[str]:
    path = [goal]
    while before := settled[path[-1]][1]:
        path.append(before)
    return path[::-1]


register("palaestra/ShortestPath-v0", f"{__name__}:ShortestPath")
