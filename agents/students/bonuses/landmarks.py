"""Bonuses by a map of landmarks that grows while a student explores: for new landmarks and for rarely visited ones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ....checks import option
from ....rewards import Step
from .bonus import register
from .slot_bonus import SlotBonus

Place = tuple[float, float]


class LandmarkMap:
    """Graph of landmarks with visit counts; edges connect landmarks that were visited one after the other.

    Args:
        spacing: a place whose Euclidean distance from all landmarks is at least ``spacing`` cells becomes a landmark.

    Attributes:
        places: positions of the landmarks, in the order of discovery.
        visits: number of visits to each landmark.
        edges: neighbours of each landmark; edges are undirected.
    """

    def __init__(self, spacing: float):
        self.spacing = spacing
        self.places: list[Place] = []
        self.visits: list[int] = []
        self.edges: list[set[int]] = []
        self._nearest: dict[Place, int] = {}

    def locate(self, place: Place) -> tuple[int, bool]:
        """Return the index of the landmark nearest to a place (the older one of ties), and True if it is new: the place
        itself, just added."""
        found = self._nearest.get(place)
        if found is not None:
            return found, False
        distances = [math.dist(place, other) for other in self.places]
        if min(distances, default=math.inf) >= self.spacing:
            self.places.append(place)
            self.visits.append(0)
            self.edges.append(set())
            self._nearest = {place: len(self.places) - 1}
            return len(self.places) - 1, True
        found = self._nearest[place] = distances.index(min(distances))
        return found, False

    def connect(self, one: int, other: int) -> None:
        """Add the edge between two landmarks."""
        if one != other:
            self.edges[one].add(other)
            self.edges[other].add(one)

    def assign(self, here: int) -> int | None:
        """Return the least visited landmark that can be reached from ``here`` along edges; None if there is no other.
        Ties go to the landmark the fewest edges away, then to the oldest one."""
        seen, order = {here}, [here]
        for landmark in order:
            for other in sorted(self.edges[landmark] - seen):
                seen.add(other)
                order.append(other)
        return min(order[1:], key=lambda landmark: self.visits[landmark], default=None)

    def to_json(self) -> dict[str, Any]:
        edges = [sorted(others) for others in self.edges]
        return {"places": [list(place) for place in self.places], "visits": list(self.visits), "edges": edges}

    def load_json(self, state: Mapping[str, Any]) -> None:
        self.places = [(place[0], place[1]) for place in state["places"]]
        self.visits, self.edges = list(state["visits"]), [set(others) for others in state["edges"]]
        self._nearest = {}


@register("landmarks")
class LandmarkBonus(SlotBonus):
    """Bonus for each new landmark on a map of the places visited, and for reaching the least visited landmark, divided
    by the root of its visits (after TopoNav, arXiv 2402.04061, whose formula is not public).

    All environments and episodes share one map of the agent's positions. At its beginning, and whenever the assigned
    landmark is reached, an episode is assigned the least visited landmark that edges lead to; the current visit is
    included in its count. The student does not observe the assignment. If levels differ in their walls, an edge may be
    blocked in some.
    """

    paper = "TopoNav, arXiv 2402.04061"
    optimum = "changes the optimal policies until the map is drawn and its landmarks have been visited often"
    needs = frozenset({"positions"})
    spacing: float = option(
        default=2.0,
        above=0,
        says="smallest distance from all landmarks, in cells, at which a place becomes a landmark.",
    )
    new: float = option(default=0.05, low=0, says="bonus for a new landmark.")
    reach: float = option(default=0.05, low=0, says="bonus for reaching the assigned landmark for the first time.")

    def setup(self) -> None:
        super().setup()
        self.map = LandmarkMap(self.spacing)

    def start(self, slot: int, observation: Any, extras: Mapping[str, Any]) -> None:
        here, _ = self.map.locate(_place(extras))
        self.map.visits[here] += 1
        self.memory[slot] = {"here": here, "assigned": self.map.assign(here)}

    def reward_step(self, slot: int, step: Step, observation: Any, terminated: bool) -> float:
        memory, bonus = self.memory[slot], 0.0
        here, fresh = self.map.locate(_place(step.extras))
        if here == memory["here"]:
            return 0.0
        self.map.connect(memory["here"], here)
        memory["here"] = here
        self.map.visits[here] += 1
        if fresh:
            bonus += self.new
        if here == memory["assigned"]:
            bonus += self.reach / math.sqrt(self.map.visits[here])
        if here == memory["assigned"] or memory["assigned"] is None:
            memory["assigned"] = self.map.assign(here)
        return bonus

    def shared(self) -> dict[str, Any]:
        return self.map.to_json()

    def load_shared(self, state: Mapping[str, Any]) -> None:
        self.map.load_json(state)


def _place(extras: Mapping[str, Any]) -> Place:
    x, y = extras["positions"][-1]
    return x, y
