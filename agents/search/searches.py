"""Searches: how many tokens a task may cost, how episodes are cut into steps, and which prefix is continued next.

A search is one dataclass: the options that all share, and a selection rule. ``SEARCHES`` holds them by name;
`parse_search` reads the form of the command line, ``mcts(budget=4096, c=1.4)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...checks import check_choice, check_count, check_number, check_share
from ...registry import Registry, take_callable
from ..grpo.recipes.recipe import Component
from ..grpo.rollouts.episode_tree import check_steps
from .step_tree import StepNode, StepTree
from .values import Scorer

SEARCHES: Registry[type[Search]] = Registry(
    "search", modules=[f"{__package__}.error_search"], table="searches", take=take_callable
)


def uct_score(total: float, visits: int, parent_visits: int, c: float = 1.0) -> float:
    """Return total / visits + c sqrt(ln parent_visits / visits); infinity for a node without visits (UCT, Kocsis and
    Szepesvári 2006; AlphaLLM, arXiv 2404.12253; rStar-Math, arXiv 2501.04519)."""
    if not visits:
        return math.inf
    return total / visits + c * math.sqrt(math.log(max(1, parent_visits)) / visits)


def puct_score(mean: float, prior: float, visits: int, parent_visits: int, c: float = 1.0) -> float:
    """Return mean + c prior sqrt(parent_visits) / (1 + visits) (AlphaGo Zero, Silver et al. 2017, methods)."""
    return mean + c * prior * math.sqrt(parent_visits) / (1 + visits)


def optimistic_score(mean: float, visits: int, c: float = 1.0) -> float:
    """Return m + c sqrt(m (1 - m) / (visits + 3)), m = (mean visits + 1) / (visits + 2): mean and deviation of a value
    in [0, 1] under a Beta(1, 1) prior."""
    m = (mean * visits + 1) / (visits + 2)
    return m + c * math.sqrt(m * (1 - m) / (visits + 3))


@dataclass(eq=False)
class Search:
    """Base class of searches; a subclass defines `select`.

    The policy completes the selected prefix to the end of the episode, and every step of the completion becomes a node.
    So no sampled token is wasted, and every prefix has the value of a finished episode. A prefix that is being
    continued counts as visited with value 0 until the episode ends, so that a wave spreads over the tree.

    Args:
        budget: most tokens that the policy samples for a task; the last episode of a search may exceed it.
        at: steps, see `agents.grpo.rollouts.episode_tree.step_starts`.
        every: number of tokens of a step with ``at="token"``.
        children: most continuations of one prefix; if all prefixes have as many and budget is left, as many more.
        leaves: number of episodes per task that are sampled at the same time.
        episodes: most episodes of a task.
        depth: prefixes with this many steps are not continued; 0: no limit.
        value: value of an episode and of its steps: names in `values.VALUES`, with parameters, joined by + for their
            mean.
        cues: texts that open continuations of a prefix in turn, such as ("", "Check: ", "Better: "); the policy did not
            sample them (think, reflect and refine, MedS3, arXiv 2501.12051).
        temperature: sampling temperature; None: the policy's.
        merge: share of the tokens in which two steps after the same prefix may differ to be one node, see `StepTree`.
    """

    budget: int = 4096
    at: str = "step"
    every: int = 16
    children: int = 4
    leaves: int = 4
    episodes: int = 512
    depth: int = 0
    value: str = "votes"
    cues: tuple[str, ...] = ()
    temperature: float | None = None
    merge: float = 0.0

    ends_when_solved: ClassVar[bool] = True
    """True if the search of a task ends once an episode has the value 1 by a conclusive value function."""

    def __post_init__(self) -> None:
        for name in ("budget", "children", "leaves", "episodes"):
            check_count(name, getattr(self, name), 1)
        check_count("depth", self.depth)
        check_share("merge", self.merge)
        check_steps(self.at, self.every)
        if self.temperature is not None:
            check_number("temperature", self.temperature, 0)
        self.scorer = Scorer(str(self.value))

    def select(self, tree: StepTree, rng: np.random.Generator) -> StepNode | None:
        """Return the prefix to continue next, which must be open; None if none is open before running episodes end."""
        raise NotImplementedError(f"{type(self).__name__} must define select(tree, rng).")


def parse_search(text: str, **fixed: object) -> Search:
    """Make a search from a text such as ``beam(width=4, budget=2048)``; ``fixed`` are further options.

    Raises:
        InputError: the text is no component, or the search or an option is unknown or out of range.
    """
    component = Component.parse(text)
    options = {name: str(value) if isinstance(value, Component) else value for name, value in component.params.items()}
    return SEARCHES.make(component.name, **{**options, **fixed})


def open_nodes(tree: StepTree) -> list[StepNode]:
    """Return all prefixes that can be continued, parents first."""
    return [node for node in tree.root.walk() if tree.is_open(node)]


def _descend(tree: StepTree, score: Callable[[StepNode], float]) -> StepNode | None:
    """Go down from the root to a node that can be continued, at each node to the child with the highest score."""
    node = tree.root
    while not tree.is_open(node):
        ways = [child for child in node.children if child.open_below]
        if not ways:
            return None
        node = max(ways, key=score)
    return node


@SEARCHES.register("mcts")
@dataclass(eq=False)
class MCTS(Search):
    """Go from the root to the child with the highest UCT score until a prefix has fewer than ``children`` continuations
    (AlphaLLM, arXiv 2404.12253; rStar-Math, arXiv 2501.04519).

    Args:
        c: constant of exploration, at least 0.
    """

    c: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("c", self.c, 0)

    def select(self, tree: StepTree, rng: np.random.Generator) -> StepNode | None:
        def score(node: StepNode) -> float:
            above = node.parent or tree.root
            return self._score(node, node.visits + node.pending, above.visits + above.pending)

        return _descend(tree, score)

    def _score(self, node: StepNode, visits: int, above: int) -> float:
        """Return a node's score, from its visits and those of its parent, running ones included."""
        return uct_score(node.total, visits, above, self.c)


@SEARCHES.register("puct")
@dataclass(eq=False)
class PUCT(MCTS):
    """As `MCTS`, with exploration in proportion to the policy's probability of a step (geometric mean over its tokens).

    Args:
        c: constant of exploration, at least 0.
    """

    def _score(self, node: StepNode, visits: int, above: int) -> float:
        return puct_score(node.total / max(1, visits), node.prior, visits, above, self.c)


def _worth_while_pending(node: StepNode) -> float:
    """Return the value of a prefix with running episodes counted as 0."""
    return node.worth * node.visits / max(1, node.visits + node.pending)


@SEARCHES.register("best_first")
@dataclass(eq=False)
class BestFirst(Search):
    """Continue the open prefix with the highest value, the shortest of equals."""

    def select(self, tree: StepTree, rng: np.random.Generator) -> StepNode | None:
        return max(open_nodes(tree), key=_worth_while_pending, default=None)


@SEARCHES.register("optimistic")
@dataclass(eq=False)
class Optimistic(Search):
    """Continue the open prefix with the highest value plus uncertainty (value-guided expansion under a budget, V-STAR,
    arXiv 2602.10699).

    Args:
        c: factor on the standard deviation of the value, at least 0.
    """

    c: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("c", self.c, 0)

    def select(self, tree: StepTree, rng: np.random.Generator) -> StepNode | None:
        def score(node: StepNode) -> float:
            return optimistic_score(_worth_while_pending(node), node.visits + node.pending, self.c)

        return max(open_nodes(tree), key=score, default=None)


@SEARCHES.register("epsilon_greedy")
@dataclass(eq=False)
class EpsilonGreedy(Search):
    """Continue the open prefix with the highest value, or a random one with probability ``epsilon``.

    Args:
        epsilon: probability in [0, 1].
    """

    epsilon: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share("epsilon", self.epsilon)

    def select(self, tree: StepTree, rng: np.random.Generator) -> StepNode | None:
        nodes = open_nodes(tree)
        if nodes and rng.random() < self.epsilon:
            return nodes[int(rng.integers(len(nodes)))]
        return max(nodes, key=_worth_while_pending, default=None)


@SEARCHES.register("beam")
@dataclass(eq=False)
class Beam(Search):
    """Continue ``children`` times each of the ``width`` best prefixes of equal length, then prefixes one step longer.

    Args:
        width: number of prefixes of each length that are continued.
    """

    width: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("width", self.width, 1)

    def select(self, tree: StepTree, rng: np.random.Generator) -> StepNode | None:
        level = [tree.root]
        while level:
            unfinished = [node for node in level if tree.is_open(node)]
            if unfinished:
                return min(unfinished, key=lambda node: node.begun)
            if any(node.running for node in level):
                return None
            longer = [child for node in level for child in node.children if child.open_below]
            level = sorted(longer, key=lambda node: -node.worth)[: self.width]
        return None


@SEARCHES.register("traversal")
@dataclass(eq=False)
class Traversal(Search):
    """Continue prefixes breadth-first or depth-first, except those of little value (Tree of Thoughts, arXiv 2305.10601,
    algorithms 1 and 2).

    Args:
        order: "breadth" (the shortest open prefix) or "depth" (the longest).
        floor: prefixes with a lower value than this are not continued, except the root.
    """

    order: str = "depth"
    floor: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("order", self.order, ("breadth", "depth"))

    def select(self, tree: StepTree, rng: np.random.Generator) -> StepNode | None:
        sign = -1 if self.order == "breadth" else 1
        nodes = [node for node in open_nodes(tree) if node.parent is None or node.worth >= self.floor]
        return max(nodes, key=lambda node: (sign * node.depth, node.worth), default=None)


@SEARCHES.register("independent")
@dataclass(eq=False)
class IndependentSamples(Search):
    """Sample whole episodes until the budget is spent: best of n with a judging ``value``, majority with "votes"."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.children = self.episodes

    def select(self, tree: StepTree, rng: np.random.Generator) -> StepNode | None:
        return tree.root if tree.is_open(tree.root) else None
