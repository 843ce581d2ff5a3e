"""Bonus for nearness to the next subgoal, by a graph of the places visited and a learned encoder of this graph."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ....checks import option
from ....errors import needs_extra
from ....rewards.models.saved_tensors import pack_tensors, unpack_tensors
from .bonus import register
from .learned_bonus import layers
from .slot_bonus import PLAIN, StateBonus

Vector = tuple[float, ...]


class StateGraph:
    """Graph of states: nodes are sufficiently different states, edge weights count transitions between two nodes.

    Args:
        threshold: a state whose Euclidean distance from all nodes exceeds ``threshold`` becomes a node.
        share: `changed_much` is True once ``changes > share * (N * N - N)``, for N nodes.

    Attributes:
        nodes: features of the nodes.
        weights: edge weights, float64[N, N], symmetric, 0 on the diagonal.
        changes: number of updates of edge weights since the last `settle`.
    """

    def __init__(self, threshold: float, share: float):
        self.threshold, self.share = threshold, share
        self.nodes: list[Vector] = []
        self.weights = np.zeros((0, 0))
        self.changes = 0
        self._nearest: dict[Vector, int] = {}

    def add(self, state: Vector, previous: int | None = None) -> int:
        """Return the index of the node of a state, a new node if the state is far from all others. Increase the weight
        of the edge to ``previous``, the node of the previous state, by 1."""
        node = self._nearest.get(state)
        if node is None:
            distances = [math.dist(state, other) for other in self.nodes]
            if min(distances, default=math.inf) > self.threshold:
                node = len(self.nodes)
                self.nodes.append(state)
                self.weights = np.pad(self.weights, ((0, 1), (0, 1)))
                self._nearest = {}
            else:
                node = distances.index(min(distances))
            self._nearest[state] = node
        if previous is not None and previous != node:
            self.weights[previous, node] += 1
            self.weights[node, previous] += 1
            self.changes += 1
        return node

    @property
    def changed_much(self) -> bool:
        number = len(self.nodes)
        return number > 1 and self.changes > self.share * (number * number - number)

    def settle(self) -> np.ndarray:
        """Return the edge weights divided by the largest one, and reset the count of changes."""
        self.changes = 0
        return self.weights / max(float(self.weights.max()), 1.0)

    def to_json(self) -> dict[str, Any]:
        nodes = [list(node) for node in self.nodes]
        return {"nodes": nodes, "weights": self.weights.tolist(), "changes": self.changes}

    def load_json(self, state: Mapping[str, Any]) -> None:
        self.nodes = [tuple(node) for node in state["nodes"]]
        self.weights = np.array(state["weights"], dtype=np.float64).reshape(len(self.nodes), len(self.nodes))
        self.changes, self._nearest = int(state["changes"]), {}


class GraphEncoder:
    """Network g that is trained so that ``g(u) . g(v)`` equals the edge weight of each pair of different nodes u, v.

    Args:
        width: length of a state's features.
        size: length of a code.
        hidden: units per layer.
        rate: learning rate of Adam.
        steps: number of gradient steps per `fit`, each on all pairs.
        seed: seed of the initial weights.

    Raises:
        MissingExtra: torch is not installed.
    """

    def __init__(
        self, width: int = 2, size: int = 16, hidden: int = 64, rate: float = 3e-3, steps: int = 40, seed: int = 0
    ):
        self.steps = steps
        with needs_extra("the bonus graph-subgoals", "train"):
            import torch
        self.torch = torch
        self.net = layers((width, hidden, hidden, size), torch.Generator().manual_seed(seed))
        self.optimiser = torch.optim.Adam(self.net.parameters(), lr=rate)

    def fit(self, nodes: Sequence[Vector], targets: np.ndarray) -> float:
        """Train on the targets [N, N] of all pairs of N nodes. Return the mean squared error at the last step."""
        torch = self.torch
        rows, goal = torch.tensor(nodes, dtype=torch.float32), torch.from_numpy(targets.astype(np.float32))
        pairs = ~torch.eye(len(nodes), dtype=torch.bool)
        for _ in range(self.steps):
            codes = self.net(rows)
            loss = (codes @ codes.T - goal)[pairs].square().mean()
            self.optimiser.zero_grad()
            loss.backward()
            self.optimiser.step()
        return float(loss.detach())

    def encode(self, states: Sequence[Vector]) -> np.ndarray:
        """Return the codes of n states, float32[n, size]."""
        with self.torch.no_grad():
            return self.net(self.torch.tensor(states, dtype=self.torch.float32)).numpy()

    def save(self) -> str:
        return pack_tensors({"net": self.net.state_dict(), "optimiser": self.optimiser.state_dict()})

    def load(self, text: str) -> None:
        saved = unpack_tensors(text)
        self.net.load_state_dict(saved["net"])
        self.optimiser.load_state_dict(saved["optimiser"])


@register("graph-subgoals")
class GraphSubgoalBonus(StateBonus):
    """Nearness to the planner's next waypoint: distance, and learned similarity in a graph of the places visited (G4RL,
    arXiv 2511.10872). form="plain" adds the nearness itself; the paper has other subgoals and no potential.

    For a state s and the next subgoal t, V is ``-|f(s) - f(t)|^2 + similarity * g(f(s)) . g(f(t))``: the reward of
    G4RL's low level, with encoder g and the agent's position in units of ``unit`` cells as features f. The graph grows
    with all steps of all environments, and the encoder is trained whenever the graph has changed much. The paper's
    subgoals come from a high-level policy, which a student does not have; here they are the planner's waypoints, in
    order.

    With form "plain", V itself is added; a student may then stay before a subgoal, because V falls when a subgoal is
    reached and the next one is farther. With form "potential", the potential is V clipped to [-1, 1], plus 2 for each
    subgoal reached.
    """

    paper = "G4RL, arXiv 2511.10872"
    needs = frozenset({"positions", "waypoints"})
    weight: float = 0.05
    similarity: float = option(default=0.5, low=0, says="weight of the similarity g(f(s)) . g(f(t)).")
    threshold: float = option(
        default=1.0, low=0, says="distance from all nodes, in cells, above which a place becomes a node."
    )
    share: float = option(default=1.0, low=0, says="amount of change after which the encoder learns, see `StateGraph`.")
    radius: float = option(default=1.0, low=0, says="distance in cells within which a subgoal counts as reached.")
    unit: float = option(default=8.0, above=0, says="number of cells that count as a distance of 1.")
    rate: float = option(default=3e-3, above=0, says="learning rate of the encoder.")
    steps: int = option(default=40, low=1, says="gradient steps each time that the encoder learns.")
    seed: int = option(default=0, says="seed of the encoder's weights.")

    def setup(self) -> None:
        super().setup()
        self.graph = StateGraph(self.threshold, self.share)
        self.encoder = GraphEncoder(rate=self.rate, steps=self.steps, seed=self.seed)
        self._codes: dict[Vector, np.ndarray] = {}

    def start_episode(self, slot: int, observation: Any, extras: Mapping[str, Any]) -> Any:
        return {"node": None, "reached": 0, "subgoals": [list(place) for place in extras["waypoints"]]}

    def value_of(self, slot: int, observation: Any, extras: Mapping[str, Any]) -> float:
        episode, here = self.episode_memory(slot), tuple(extras["positions"][-1])
        episode["node"] = self.graph.add(here, episode["node"])
        if self.graph.changed_much:
            self.encoder.fit([self._feature(node) for node in self.graph.nodes], self.graph.settle())
            self._codes = {}
        subgoals = episode["subgoals"]
        # The last subgoal stays until the episode is over.
        while episode["reached"] < len(subgoals) - 1 and (math.dist(here, subgoals[episode["reached"]]) <= self.radius):
            episode["reached"] += 1
        if not subgoals:
            return 0.0
        subgoal = tuple(subgoals[episode["reached"]])
        value = self.similarity * self._similarity(here, subgoal) - (math.dist(here, subgoal) / self.unit) ** 2
        return value if self.form == PLAIN else min(max(value, -1.0), 1.0) + 2.0 * episode["reached"]

    def _similarity(self, here: Vector, subgoal: Vector) -> float:
        for place in (here, subgoal):
            if place not in self._codes:
                # One place per batch: another batch size could change the last digits, and with them a resumed run.
                (self._codes[place],) = self.encoder.encode([self._feature(place)])
        return float(self._codes[here] @ self._codes[subgoal])

    def _feature(self, place: Sequence[float]) -> Vector:
        return tuple(coordinate / self.unit for coordinate in place)

    def shared(self) -> dict[str, Any]:
        return {"graph": self.graph.to_json(), "encoder": self.encoder.save()}

    def load_shared(self, state: Mapping[str, Any]) -> None:
        self.graph.load_json(state["graph"])
        self.encoder.load(state["encoder"])
        self._codes = {}
