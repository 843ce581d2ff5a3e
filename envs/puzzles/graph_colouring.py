"""palaestra/GraphColouring-v0: colour the vertices of a graph so that adjacent ones differ."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...rewards import Verdict
from ...rewards.verifiers.registry import CORRECT, rejected
from ..board_picture import INK, LINE, Cell, draw_board
from ..param_space import FloatAxis, IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register
from .numbers_in_order import read_numbers_in_order

# Edges per vertex above which large random graphs cannot be coloured, by number of colours (half of the mean degrees in
# Zdeborova and Krzakala, Phys. Rev. E 76, 031131, 2007, table I).
THRESHOLD = {3: 2.344, 4: 4.450}
# With at least this many edges a random colouring is valid with probability below 0.02: (1 - 1/k)^m.
FEWEST = {3: 10, 4: 14}
# The number of graphs drawn to find one that a greedy player cannot colour rises from 0 at density `EASY` to
# `MOST_DRAWN` at density `HARD`. With fewer vertices than `FEW` there are hardly any such graphs.
EASY, HARD, MOST_DRAWN, FEW = 0.5, 0.7, 60, 12


class GraphColouring(Question):
    """Colour a graph.

    Description:
        Edges are drawn between vertices to which a hidden colouring, which uses each colour about equally often, gives
        different colours; so there is always a solution. Any other solution is accepted, too. From 12 vertices and a
        density of 0.5 on, a graph that a greedy player colours is drawn again, up to 60 times at a density of 0.7. The
        greedy player (DSATUR) always takes a vertex next to the most colours, of these one with the most neighbours, of
        these the first or the last one, and gives it the first free colour.

    Parameters:
        vertices (6 to 18, on request up to 100): vertices of the graph.
        colours (3 to 4): colours that may be used.
        density (0.4 to 0.7, on request 0.2 to 1.0): number of edges, as a share of the number at which large random
            graphs stop being colourable (smaller ones are hardest at about 0.7). If possible, there are at least so
            many that a random colouring is valid in under 0.02 of cases.

    Observation:
        The number of vertices and colours, and the edges as pairs of vertices.

    Actions:
        Text with the colour of each vertex in turn, as numbers from 1 separated by blanks or commas: ``1 2 1 3 2 2 3``,
        or each after the number of its vertex: ``1: 1, 2: 2``; read in ``answer_format``.

    Reward:
        1 for a colouring without an edge between equal colours, 0 otherwise. A colouring that has each colour about
        equally often fits the graphs of 6 vertices in 0.12 (three colours) to 0.16 (four) of cases by chance. The
        greedy player above wins every easy task, and none at densities at which the graphs that this player colours are
        drawn again often enough.

    Termination:
        After the first answer.

    Source:
        Francis Guthrie's question, 1852; generated here.
    """

    answer_form = "lines"
    param_space = ParamSpace(
        [
            IntAxis("vertices", 6, 18, limits=(6, 100)),
            IntAxis("colours", 3, 4),
            FloatAxis("density", 0.4, 0.7, limits=(0.2, 1.0)),
        ]
    )

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        n, k, density = params["vertices"], params["colours"], params["density"]
        colouring, edges = _draw_graph(n, k, density, rng)
        if n >= FEW and density > EASY:
            for _ in range(round(min(density - EASY, HARD - EASY) / (HARD - EASY) * MOST_DRAWN)):
                if None in colour_greedily(n, k, edges) and None in colour_greedily(n, k, edges, last=True):
                    break
                colouring, edges = _draw_graph(n, k, density, rng)
        listed = ", ".join(f"{a + 1}-{b + 1}" for a, b in edges)
        return Task(
            f"Colour the vertices 1 to {n} of a graph with at most {k} colours, numbered 1 to {k}, so that any two "
            f"joined vertices have different colours. Joined are: {listed}. Answer with the colours of vertices 1 to "
            f"{n} in turn: {n} numbers from 1 to {k} separated by spaces.",
            " ".join(map(str, colouring)),
            content=f"{n} {k}: {listed}",
            data=(n, k, edges),
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        n, k, edges = task.data
        colours = read_numbers_in_order(answer, n)
        if colours is None or not all(1 <= colour <= k for colour in colours):
            return rejected(f"The answer must be {n} numbers from 1 to {k}, separated by spaces.")
        for a, b in edges:
            if colours[a] == colours[b]:
                pair = f"{a + 1} and {b + 1}"
                return Verdict(0.0, False, feedback=f"Vertices {pair} are joined and both have colour {colours[a]}.")
        return CORRECT

    def heuristic_action(self, episode: Task) -> str:
        """Return the greedy player's colouring, with colour 1 for vertices that have no free colour."""
        return " ".join(str(colour or 1) for colour in colour_greedily(*episode.data))

    def solver_cost(self, episode: Task) -> float:
        """Return the number of nodes of a depth-first search over the vertices in order, up to the first solution. At
        each vertex only one colour that has not been used before is tried."""
        n, k, edges = episode.data
        before = _earlier_neighbours(n, edges)
        colours: list[int] = []
        nodes = 0

        def place() -> bool:
            nonlocal nodes
            nodes += 1
            if len(colours) == n:
                return True
            taken = {colours[other] for other in before[len(colours)]}
            for colour in range(1, min(k, max(colours, default=0) + 1) + 1):
                if colour not in taken:
                    colours.append(colour)
                    if place():
                        return True
                    colours.pop()
            return False

        place()
        return nodes

    def criteria(self, task: Task) -> list[str]:
        n, k, _ = task.data
        return [
            "Any two joined vertices have different colours.",
            f"At most {k} colours are used, numbered 1 to {k}.",
            f"Each of the {n} vertices has one colour.",
        ]

    def solution_steps(self, task: Task) -> list[str]:
        n, _, edges = task.data
        colours = task.reference.split()
        steps = []
        for vertex, others in enumerate(_earlier_neighbours(n, edges)):
            known = ", ".join(f"{other + 1} (colour {colours[other]})" for other in others)
            steps.append(f"Vertex {vertex + 1} gets {colours[vertex]}" + (f": joined to {known}." if known else "."))
        return [*steps, self.oracle(task)]

    def draw(self, episode: Task) -> np.ndarray:
        """Draw the adjacency matrix, with the numbers of the vertices along both sides."""
        n, _, edges = episode.data
        joined = {(a, b) for pair in edges for a, b in (pair, pair[::-1])}
        head = [Cell(fill=LINE), *(Cell(str(vertex + 1), LINE) for vertex in range(n))]
        table = [[Cell(fill=INK) if (a, b) in joined else Cell() for b in range(n)] for a in range(n)]
        rows = [[Cell(str(vertex + 1), LINE), *row] for vertex, row in enumerate(table)]
        return draw_board([head, *rows])


def _draw_graph(n: int, k: int, density: float, rng: np.random.Generator) -> tuple[list[int], list[tuple[int, int]]]:
    """Draw (colour of each vertex, edges between vertices of different colours)."""
    draws = rng.random(n + n * n).tolist()
    colouring = [1] * n
    for place, vertex in enumerate(sorted(range(n), key=draws.__getitem__)):
        colouring[vertex] = 1 + place % k
    pairs = [(a, b) for a in range(n) for b in range(a + 1, n) if colouring[a] != colouring[b]]
    # Leave out some pairs, as otherwise there would be few different graphs.
    wanted = min(len(pairs) - 4, max(FEWEST[k], round(density * THRESHOLD[k] * n)))
    chosen = sorted(range(len(pairs)), key=draws[n:].__getitem__)[:wanted]
    return colouring, [pairs[place] for place in sorted(chosen)]


def colour_greedily(n: int, k: int, edges: list[tuple[int, int]], last: bool = False) -> list[int | None]:
    """Return the colour of each vertex by DSATUR (Brelaz, "New methods to color the vertices of a graph", 1979).

    The next vertex is the one with the most colours among its neighbours; of these the one with the most neighbours; of
    these the first one (the last one if ``last``). It gets the first free colour, or None if all ``k`` are taken.
    """
    neighbours: list[list[int]] = [[] for _ in range(n)]
    for a, b in edges:
        neighbours[a].append(b)
        neighbours[b].append(a)
    # Priority of a vertex: the number of colours among its neighbours, then its number of neighbours.
    urgency = [len(others) for others in neighbours]
    colours: list[int | None] = [None] * n
    taken = [0] * n
    free = list(range(n))[:: -1 if last else 1]
    while free:
        vertex = max(free, key=urgency.__getitem__)
        free.remove(vertex)
        colour = next((colour for colour in range(1, k + 1) if not taken[vertex] >> colour & 1), None)
        colours[vertex] = colour
        if colour is not None:
            for other in neighbours[vertex]:
                if not taken[other] >> colour & 1:
                    taken[other] |= 1 << colour
                    urgency[other] += n
    return colours


def _earlier_neighbours(n: int, edges: list[tuple[int, int]]) -> list[list[int]]:
    """Return, for each vertex, its neighbours with lower numbers."""
    earlier: list[list[int]] = [[] for _ in range(n)]
    for a, b in edges:
        earlier[b].append(a)
    return earlier


register("palaestra/GraphColouring-v0", f"{__name__}:GraphColouring")
