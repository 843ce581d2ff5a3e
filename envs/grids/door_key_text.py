"""palaestra/DoorKeyText-v0: DoorKey in text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..game import Game, Transition
from . import door_key_world as dk
from .door_key_measures import SUPPLIES, measure_worlds

ACTIONS = {
    "turn left": dk.LEFT,
    "turn right": dk.RIGHT,
    "go forward": dk.FORWARD,
    "pick up": dk.PICK_UP,
    "drop": dk.DROP,
    "toggle": dk.TOGGLE,
    "wait": dk.DONE,
}
# Synonyms of the actions; `_PATTERNS` allows a verb before and an object after: "walk straight ahead", "open the door".
_SYNONYMS = {
    "turn left": "left",
    "turn right": "right",
    "go forward": "forward|ahead|forwards|straight|straight ahead|on",
    "pick up": "pick up|pickup|grab|take|get",
    "drop": "drop|put down|release",
    "toggle": "toggle|open|unlock|close",
    "wait": "wait|stay|done|nothing",
}
_PATTERNS = {
    ACTIONS[name]: re.compile(
        r"(?:(?:go|move|step|walk|turn|rotate|face|do)(?: one step)? (?:to the )?)?"
        rf"(?:{words})(?: (?:the|this) (?:key|door))?"
    )
    for name, words in _SYNONYMS.items()
}
_NAMES = {number: name for name, number in ACTIONS.items()}
_LIST = ", ".join(ACTIONS)
_LEGEND = (
    "Take the key K, open the door L, reach the goal G. # is wall, . is free, D a closed and O an open door; "
    f"you are > v < or ^. Actions: {_LIST}."
)


def read_step(text: str) -> int | None:
    """Return the number of the action that ``text`` names, also in synonyms; None where it names none."""
    words = " ".join(text[:80].lower().split())
    if words in ACTIONS:
        return ACTIONS[words]
    return next((number for number, pattern in _PATTERNS.items() if pattern.fullmatch(words)), None)


@dataclass(frozen=True, slots=True)
class Scene:
    """The world, and whether this is the first turn, which states the rules."""

    world: dk.World
    first: bool = True


class DoorKeyText(Game):
    """Find the key, open the door, reach the goal, by text alone.

    Description:
        The worlds and dynamics of `palaestra/DoorKey-v0` (a world is in the same split in both), seen as a whole map.

    Parameters:
        size (5 to 16, on request up to 40): cells along each side, the outer wall included.
        obstacles (0 to 8, on request up to 40): extra walls, as many as fit without cutting a room in two.

    Observation:
        Text: a map of one character per cell, then ``You face east. Ahead: wall. You carry nothing.`` The first one
        begins with the mission, the legend, the list of actions and the number of turns.

    Actions:
        Text: "turn left", "turn right", "go forward", "pick up", "drop", "toggle" (open or close the door), "wait";
        case and spacing do not matter. Read in ``answer_format``.

    Reward:
        1 on reaching the goal, 0 otherwise. ``info["progress"]`` counts key, door and goal as a third each.

    Termination:
        On reaching the goal. Truncated after size**2 turns, 1.6 to 8 times as many as the shortest way takes. An action
        that cannot be read uses up a turn. Heading straight for key, door and goal succeeds mostly, which does not fall
        with difficulty, as the rooms are open except for a few walls.

    Extras:
        Positions, waypoints, distances to the goal, subgoals achieved, potentials: see `measure_worlds`.

    Source:
        MiniGrid's DoorKey (Chevalier-Boisvert et al., arXiv 2306.13831), in the manner of its text variants.
    """

    param_space = dk.PARAM_SPACE
    supplies = SUPPLIES
    keeps_states = True
    arrow_keys: ClassVar = {"up": "go forward\n", "left": "turn left\n", "right": "turn right\n"}
    baselines: ClassVar = {"heuristic": (1.0, 1.0, 0.98, 0.98, 0.97)}

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self._planner = dk.Planner()

    def start(self, rng: np.random.Generator, params: dict[str, Any]) -> Scene:
        return Scene(dk.generate_world(rng, params["size"], params["obstacles"]))

    def content_of(self, episode: Scene) -> str:
        return dk.render_map(episode.world)

    def measure_states(self, states: Sequence[Scene], name: str) -> Any:
        return measure_worlds([scene.world for scene in states], name)

    def turn_limit(self, state: Scene) -> int:
        return state.world.size**2

    def observe(self, state: Scene) -> str:
        world = state.world
        carried = "the key" if world.key is None else "nothing"
        ahead = f"You face {dk.DIRECTIONS[world.facing]}. Ahead: {_name_ahead(world)}. You carry {carried}."
        scene = f"{dk.render_map(world)}\n{ahead}"
        return f"{_LEGEND} You have {world.size**2} turns.\n{scene}" if state.first else scene

    def act(self, state: Scene, action: str) -> Transition:
        number = read_step(action)
        if number is None:
            return Transition(state, progress=state.world.progress, action_error=f"An action must be one of: {_LIST}.")
        world = dk.apply_action(state.world, number)
        return Transition(Scene(world, first=False), world.solved, world.solved, world.progress)

    def oracle(self, state: Scene) -> str:
        return _NAMES[self._planner(state.world)]

    def random_action(self, episode: Scene, rng: np.random.Generator) -> str:
        return _NAMES[int(rng.integers(len(_NAMES)))]

    def heuristic_action(self, episode: Scene) -> str:
        """Return the greedy action: heads straight for the key, the door and then the goal."""
        return _NAMES[dk.greedy_action(episode.world)]


def _name_ahead(world: dk.World) -> str:
    ahead = world.ahead
    if ahead == world.door:
        return f"{world.lock} door"
    if ahead == world.key:
        return "key"
    if ahead == world.goal:
        return "goal"
    return "wall" if ahead in world.walls else "free"
