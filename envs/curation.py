"""Curation of texts: the largest subset of which no two are alike (CodeBoost, arXiv 2508.05242, maximum clique).

Texts are the nodes of a graph, with an edge between two texts that are different enough. A maximum clique of it is the
largest set of mutually different texts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ..checks import check_share

MOST_STEPS = 200_000
"""Nodes of the search tree after which the largest clique found so far is returned."""
_WORD = re.compile(r"\w+|[^\w\s]")


def word_overlap(texts: Sequence[str], n: int = 3) -> np.ndarray:
    """Return float64[m, m], the Jaccard similarity of the sets of ``n`` neighbouring words and signs of each two texts;
    1 for two texts without any."""
    found = [_WORD.findall(text) for text in texts]
    sets = [{tuple(words[i : i + n]) for i in range(max(1, len(words) - n + 1))} for words in found]
    overlap = np.ones((len(sets), len(sets)))
    for i, first in enumerate(sets):
        for j in range(i):
            overlap[i, j] = overlap[j, i] = len(first & sets[j]) / len(first | sets[j])
    return overlap


def maximum_clique(adjacent: np.ndarray, most_steps: int = MOST_STEPS) -> list[int]:
    """Return the nodes of a maximum clique, in order, by branch and bound with greedy colouring (Tomita and Seki 2003).

    Args:
        adjacent: bool[m, m], symmetric; the diagonal is ignored.
        most_steps: nodes of the search tree after which the largest clique so far is returned.
    """
    neighbours = [set(np.flatnonzero(row).tolist()) - {node} for node, row in enumerate(np.asarray(adjacent, bool))]
    best: list[int] = []
    steps = 0

    def colour(nodes: list[int]) -> list[tuple[int, int]]:
        """Return (node, number of colours up to it), by colours: no clique in the nodes before has more members."""
        classes: list[list[int]] = []
        for node in nodes:
            place = next((c for c in classes if not neighbours[node] & set(c)), None)
            if place is None:
                classes.append([node])
            else:
                place.append(node)
        return [(node, number) for number, members in enumerate(classes, 1) for node in members]

    def expand(clique: list[int], nodes: list[int]) -> None:
        nonlocal best, steps
        for node, bound in reversed(colour(nodes)):
            steps += 1
            if len(clique) + bound <= len(best) or steps > most_steps:
                return
            grown, rest = [*clique, node], [other for other in nodes if other in neighbours[node]]
            if rest:
                expand(grown, rest)
            elif len(grown) > len(best):
                best = grown
            nodes = [other for other in nodes if other != node]

    expand([], sorted(range(len(neighbours)), key=lambda node: -len(neighbours[node])))
    return sorted(best)


def most_different(texts: Sequence[str], below: float) -> list[int]:
    """Return the indices of the largest set of texts of which each two overlap by less than ``below``.

    Raises:
        InputError: ``below`` is no share above 0.
    """
    check_share("distinct", below, positive=True)
    return maximum_clique(word_overlap(texts) < below)
