"""Binary search for the first wrong step of an episode (OmegaPRM, arXiv 2406.06592).

A prefix from which some continuations succeed is right so far; the first wrong step ends the shortest prefix from which
none does. Halving finds it after about log2(steps) probes. The search "omega" repeats this in one tree: the next wrong
episode to halve is chosen by Q + U among the continuations of all prefixes that were probed before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ...checks import check_count, check_number, check_share
from .searches import SEARCHES, Search
from .step_tree import StepNode, StepTree


@dataclass
class Halving:
    """Binary search for the first wrong step: the prefix of ``low`` steps is right, that of ``high`` steps is wrong."""

    low: int
    high: int

    @property
    def over(self) -> bool:
        """True once step number ``high`` is known as the first wrong one."""
        return self.high - self.low <= 1

    @property
    def middle(self) -> int:
        """Number of steps of the prefix to probe next."""
        return (self.low + self.high) // 2

    def report(self, succeeds: bool) -> None:
        """Continue with the later half if a continuation of the middle prefix succeeds, else with the earlier half."""
        self.low, self.high = (self.middle, self.high) if succeeds else (self.low, self.middle)


def rollout_priority(mc: float, tokens: int, alpha: float = 0.5, beta: float = 0.9, length: float = 500.0) -> float:
    """Return Q(s, r) = alpha^(1 - MC(s)) beta^(tokens / length): short wrong continuations of nearly certain prefixes
    come first (OmegaPRM, arXiv 2406.06592)."""
    return alpha ** (1 - mc) * beta ** (tokens / length)


def prefix_exploration(visits: int, all_visits: int, c: float = 0.125) -> float:
    """Return U(s) = c sqrt(sum of visits) / (1 + visits of s) (OmegaPRM, arXiv 2406.06592)."""
    return c * math.sqrt(all_visits) / (1 + visits)


@dataclass(eq=False)
class Labelling:
    """State of a tree that "omega" grows.

    Attributes:
        probed: prefixes with ``samples`` continuations, in the order of their probes.
        selected: for each of them, how often one of its continuations was halved.
        halved: numbers of the episodes that were halved.
        path: nodes of the episode that is being halved, the root first; [] before the first.
        halving: its binary search.
    """

    probed: list[StepNode] = field(default_factory=list)
    selected: dict[StepNode, int] = field(default_factory=dict)
    halved: set[int] = field(default_factory=set)
    path: list[StepNode] = field(default_factory=list)
    halving: Halving = field(default_factory=lambda: Halving(0, 1))


@SEARCHES.register("omega")
@dataclass(eq=False)
class Omega(Search):
    """Find the first wrong step of one episode after the other by halving, for labels of steps (OmegaPRM, arXiv
    2406.06592).

    A continuation of a probed prefix s with 0 < MC(s) < 1, MC(s) being the share of its continuations that succeed, is
    chosen by Q + U, see `rollout_priority` and `prefix_exploration`. (The sum of visits in U is over the whole tree, as
    in an open implementation; the paper's is over siblings.)

    Args:
        samples: number of continuations of each probed prefix.
        alpha, beta, length: of Q.
        c: of U.
    """

    value: str = "verdict"
    samples: int = 8
    alpha: float = 0.5
    beta: float = 0.9
    length: float = 500.0
    c: float = 0.125

    ends_when_solved = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("samples", self.samples, 1)
        check_share("alpha", self.alpha, positive=True)
        check_share("beta", self.beta, positive=True)
        check_number("length", self.length, 1)
        check_number("c", self.c, 0)
        self.children = self.episodes

    def select(self, tree: StepTree, rng: np.random.Generator) -> StepNode | None:
        state = tree.memory.setdefault("omega", Labelling())
        assert isinstance(state, Labelling)
        while True:
            node = tree.root if not state.path else state.path[state.halving.middle]
            if state.path and state.halving.over:
                if tree.root.pending or not self._choose(tree, state):
                    return None
                continue
            if tree.started_at(node) + node.running < self.samples:
                return node
            if node.running:
                return None
            if node not in state.probed:
                state.probed.append(node)
            if not state.path:
                if not self._choose(tree, state):
                    return None
            else:
                state.halving.report(tree.success_rate(node) > 0)

    def _choose(self, tree: StepTree, state: Labelling) -> bool:
        """Choose the next wrong episode to halve. Return False if none is left."""
        rates = {node: tree.success_rate(node) for node in state.probed}
        visits = sum(state.selected.values())
        best: tuple[float, int, StepNode] | None = None
        for number, node in enumerate(tree.sources):
            rate = rates.get(node, 0.0)
            if not 0 < rate < 1 or tree.rewards[number] != 0 or number in state.halved:
                continue
            tokens = tree.members[number].trajectory.action_tokens - node.end
            score = rollout_priority(rate, tokens, self.alpha, self.beta, self.length)
            score += prefix_exploration(state.selected.get(node, 0), visits, self.c)
            if best is None or score > best[0]:
                best = score, number, node
        if best is None:
            return False
        _, number, node = best
        state.halved.add(number)
        state.selected[node] = state.selected.get(node, 0) + 1
        state.path = tree.leaves[number].path()
        state.halving = Halving(node.depth, tree.leaves[number].depth)
        return True


def probed_prefixes(tree: StepTree) -> dict[StepNode, float]:
    """Return the success rate after each prefix that "omega" has probed: labels for a process reward model."""
    state = tree.memory.get("omega")
    return {node: tree.success_rate(node) for node in state.probed} if isinstance(state, Labelling) else {}
