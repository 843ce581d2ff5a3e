"""palaestra/GraphColouring-v0: colour the vertices of a graph so that joined ones differ."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...rewards import Verdict
from ...rewards.verifiers.grid import GridError, parse_grid
from ...rewards.verifiers.registry import CORRECT, rejected
from ..drawing import INK, LINE, Cell, board
from ..param_space import FloatAxis, IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register

# Edges per vertex above which large random graphs cannot be coloured, by number of colours (half of the mean degrees in
# Zdeborova and Krzakala, Phys. Rev. E 76, 031131, 2007, table I).
THRESHOLD = {3: 2.344, 4: 4.450}
# With so many edges a colouring at random fits in less than 0.02 of cases: (1 - 1/k)^m.
FEWEST = {3: 10, 4: 14}


class GraphColouring(Question):
    """Colour a graph.

    Description:
        Edges are drawn between vertices that a hidden colouring, which uses each colour about equally often, gives
        different colours; so there is always a solution. Any other is as good.

    Parameters:
        vertices (8 to 18): vertices of the graph.
        colours (3 to 4): colours that may be used.
        density (0.4 to 0.7): edges as a share of those with which large random graphs stop being colourable (smaller
            ones are hardest at about 0.7), but at least so many that a random colouring fits in under 0.02 of cases.

    Observation:
        The number of vertices and colours, and the edges as pairs of vertices.

    Actions:
        Text with the colour of each vertex in turn, as numbers from 1 separated by blanks or commas: ``1 2 1 3 2 2 3``;
        read as ``answer_format`` says.

    Reward:
        1 for a colouring without an edge between equal colours, 0 otherwise. A colouring that has each colour about
        equally often fits the graphs of 8 vertices in 0.04 (three colours) to 0.06 (four) of cases by chance.

    Termination:
        After the first answer.

    Source:
        Francis Guthrie's question, 1852; generated here.
    """

    answer_form = "lines"
    param_space = ParamSpace([IntAxis("vertices", 8, 18), IntAxis("colours", 3, 4), FloatAxis("density", 0.4, 0.7)])
    chance = 0.06

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        n, k = params["vertices"], params["colours"]
        draws = rng.random(n + n * n).tolist()
        colouring = [1] * n
        for place, vertex in enumerate(sorted(range(n), key=draws.__getitem__)):
            colouring[vertex] = 1 + place % k
        pairs = [(a, b) for a in range(n) for b in range(a + 1, n) if colouring[a] != colouring[b]]
        # Never all pairs: then there would be few different graphs.
        wanted = min(len(pairs) - 4, max(FEWEST[k], round(params["density"] * THRESHOLD[k] * n)))
        chosen = sorted(range(len(pairs)), key=draws[n:].__getitem__)[:wanted]
        edges = [pairs[place] for place in sorted(chosen)]
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
        try:
            rows = parse_grid(answer.strip("[](){} "))
        except GridError:
            rows = []
        if len(rows) != 1 or len(rows[0]) != n or not all(1 <= colour <= k for colour in rows[0]):
            return rejected(f"The answer must be {n} numbers from 1 to {k}, separated by spaces.")
        colours = rows[0]
        for a, b in edges:
            if colours[a] == colours[b]:
                pair = f"{a + 1} and {b + 1}"
                return Verdict(0.0, False, feedback=f"Vertices {pair} are joined and both have colour {colours[a]}.")
        return CORRECT

    def solver_cost(self, episode: Task) -> float:
        """Nodes of a depth-first search over the vertices in turn, up to the first colouring; a new colour is tried
        only once at each."""
        n, k, edges = episode.data
        before = _earlier(n, edges)
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

    def solution_steps(self, task: Task) -> list[str]:
        n, _, edges = task.data
        colours = task.reference.split()
        steps = []
        for vertex, others in enumerate(_earlier(n, edges)):
            known = ", ".join(f"{other + 1} (colour {colours[other]})" for other in others)
            steps.append(f"Vertex {vertex + 1} gets {colours[vertex]}" + (f": joined to {known}." if known else "."))
        return [*steps, self.oracle(task)]

    def draw(self, episode: Task) -> np.ndarray:
        """The table of which vertices are joined, with their numbers along both sides."""
        n, _, edges = episode.data
        joined = {(a, b) for pair in edges for a, b in (pair, pair[::-1])}
        head = [Cell(fill=LINE), *(Cell(str(vertex + 1), LINE) for vertex in range(n))]
        table = [[Cell(fill=INK) if (a, b) in joined else Cell() for b in range(n)] for a in range(n)]
        rows = [[Cell(str(vertex + 1), LINE), *row] for vertex, row in enumerate(table)]
        return board([head, *rows])


def _earlier(n: int, edges: list[tuple[int, int]]) -> list[list[int]]:
    """For each vertex the lower ones that it is joined to."""
    earlier: list[list[int]] = [[] for _ in range(n)]
    for a, b in edges:
        earlier[b].append(a)
    return earlier


register("palaestra/GraphColouring-v0", f"{__name__}:GraphColouring")
