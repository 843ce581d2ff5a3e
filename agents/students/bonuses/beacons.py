"""Sub-goals that a policy is conditioned on in training and that vanish at evaluation (Words as Beacons, arXiv
2410.08632).

A planner, an agent or a table names the sub-goals g_0, ..., g_N of a level at its start. The student sees the next one
beside the observation, encoded in one of three ways, and gets a bonus when it reaches it; then the one after it is
shown. `StudentAgent` hides the sub-goals, so that evaluations contain nothing of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from ....checks import option
from ....envs.grids.cells import COLOURS, EMPTY, KINDS, THINGS, name_thing
from ....envs.grids.grid_env import GridEnv
from ....envs.grids.grid_planner import find_action
from ....envs.grids.grid_rules import GridRules
from ....envs.grids.grid_world import DROP, PICK_UP, TOGGLE, World
from ....errors import InputError
from ....rewards import Step
from ...waypoint_questions import ask_for_waypoints
from .bonus import register
from .slot_bonus import SlotBonus
from .waypoint_bonus import PLANNER, describe_level

ENCODINGS = ("relative", "object", "language")
_WORDS = {PICK_UP: "pick up the", TOGGLE: "open the", DROP: "put something down at the"}
_LETTERS = "abcdefghijklmnopqrstuvwxyz "
_LONGEST = 64


class Beacon(NamedTuple):
    """A sub-goal: the cell (x, y) of a thing, the thing's code, the sub-goal in words, and True if it is reached once
    the cell holds another thing, False if it is reached by the agent's coming near."""

    x: int
    y: int
    code: int
    words: str
    changes: bool


def plan_beacons(rules: GridRules, world: World) -> list[Beacon]:
    """Return the sub-goals on a shortest solution: the things that it picks up, opens or puts down, and its end."""
    found: list[Beacon] = []
    for _ in range(rules.limit(world)):
        if rules.flags(world)[-1]:
            break
        action = find_action(rules, world)
        if action in _WORDS:
            ahead = world.ahead
            code = world.cells[ahead]
            words = f"{_WORDS[action]} {name_thing(code)}"
            found.append(Beacon(ahead % world.width, ahead // world.width, code, words, True))
        world = rules.advance(world, action)
    x, y = world.place
    code = world.cells[world.agent]
    return [*found, Beacon(x, y, code, f"go to the {name_thing(code) if code != EMPTY else 'end'}", False)]


def name_beacons(world: World, places: Iterable[Sequence[int]]) -> list[Beacon]:
    """Return the sub-goals of going to given cells (x, y); cells outside the level are left out."""
    found = []
    height = len(world.cells) // world.width
    for x, y in places:
        if 0 <= x < world.width and 0 <= y < height:
            code = world.cells[y * world.width + x]
            found.append(Beacon(int(x), int(y), code, f"go to the {name_thing(code)}", False))
    return found


class ConditionedSpace(gym.spaces.Dict):
    """Space of observations with a sub-goal: {"observation": ..., "subgoal": ...}.

    Args:
        observation: space of the environment's observations.
        encoding: one of `ENCODINGS`: "relative", the way to the sub-goal's cell as a share of the level's sides, and 1
            (all 0 if hidden), float32[3]; "object", kind and colour of its thing (0, 0 if hidden); "language", text.
    """

    def __init__(self, observation: gym.Space[Any], encoding: str):
        spaces = {
            "relative": gym.spaces.Box(-1.0, 1.0, (3,), np.float32),
            "object": gym.spaces.MultiDiscrete([len(KINDS), len(COLOURS)]),
            "language": gym.spaces.Text(_LONGEST, min_length=0, charset=_LETTERS),
        }
        self.encoding = encoding
        super().__init__({"observation": observation, "subgoal": spaces[encoding]})

    def hide(self, observation: Any) -> dict[str, Any]:
        """Return an observation without a sub-goal."""
        return self.show(observation, None, None)

    def show(self, observation: Any, beacon: Beacon | None, world: World | None) -> dict[str, Any]:
        """Return an observation with a sub-goal as seen in a state; None: without one."""
        if self.encoding == "language":
            goal: Any = "" if beacon is None else beacon.words[:_LONGEST]
        elif beacon is None or world is None:
            goal = np.zeros(3, np.float32) if self.encoding == "relative" else np.zeros(2, np.int64)
        elif self.encoding == "object":
            thing = THINGS[beacon.code]
            goal = np.array([KINDS.index(thing.kind), COLOURS.index(thing.colour)], dtype=np.int64)
        else:
            (x, y), height = world.place, len(world.cells) // world.width
            goal = np.array([(beacon.x - x) / world.width, (beacon.y - y) / height, 1.0], dtype=np.float32)
        return {"observation": observation, "subgoal": goal}


class ConditionedView(gym.Wrapper[Any, Any, Any, Any]):
    """Wrapper that shows the next sub-goal of a slot beside the observation; must enclose the slot's bonus."""

    def __init__(self, env: gym.Env[Any, Any], bonus: BeaconBonus, slot: int):
        super().__init__(env)
        self.observation_space: Any = ConditionedSpace(env.observation_space, bonus.encoding)
        self._bonus, self._slot = bonus, slot

    def _show(self, observation: Any) -> dict[str, Any]:
        beacon = self._bonus.next_beacon(self._slot)
        return self.observation_space.show(observation, beacon, self.env.unwrapped.here())  # type: ignore[attr-defined]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        return self._show(observation), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, *rest = self.env.step(action)
        return self._show(observation), *rest  # type: ignore[return-value]


@register("beacons")
class BeaconBonus(SlotBonus):
    """Bonus for each sub-goal reached in order, with the next one shown to the student in training only (Words as
    Beacons). The weight alpha and the exact normalisation are not published; here each of the n sub-goals of a level
    pays alpha / n (1 - 0.9 t / T) at step t of at most T.

    The student must also act without sub-goals, so a share ``hidden`` of the training episodes has neither sub-goals
    nor their bonus.
    """

    paper = "Words as Beacons, arXiv 2410.08632"
    optimum = "changes the optimal policies towards those that take the sub-goals on their way"
    encoding: str = option(default="relative", choices=ENCODINGS, says="encoding of the next sub-goal.")
    weight: float = option(default=0.5, low=0, says="most bonus of an episode, the paper's alpha.")
    hidden: float = option(default=0.25, low=0, high=1, says="share of the training episodes without sub-goals.")
    radius: float = option(default=1.0, low=0, says="distance in cells within which a named place counts as reached.")
    author: Any = option(
        default=PLANNER,
        says='"planner": a shortest solution; or an agent, as for --agent, which names places once per level.',
    )
    table: str = option(
        default="", says="file of `write_table` with the places of known levels; others then have no sub-goals."
    )
    most: int = option(default=8, low=1, unit="sub-goals", says="most sub-goals that an agent may name.")
    seed: int = option(default=0, says="seed of the draws of hidden episodes.")

    def setup(self) -> None:
        super().setup()
        self._named: dict[str, list[list[int]] | None] = {}
        self._loaded: set[int] = set()
        if self.table:
            try:
                rows = json.loads(Path(self.table).read_text(encoding="utf-8"))
                self._named = {str(level): [[int(x), int(y)] for x, y in places] for level, places in rows.items()}
            except (OSError, ValueError, TypeError, AttributeError) as error:
                raise InputError(f"table={self.table!r} is no file of write_table ({error}).") from None

    def attach(self, envs: Sequence[gym.Env[Any, Any]]) -> None:
        if not isinstance(envs[0], GridEnv):
            raise InputError(f"the bonus 'beacons' has sub-goals of gridworlds only, not of {envs[0]}; take another.")
        super().attach(envs)

    def condition(self, env: gym.Env[Any, Any], slot: int) -> ConditionedView:
        """Return a slot's environment with the sub-goal beside the observation."""
        return ConditionedView(env, self, slot)

    def next_beacon(self, slot: int) -> Beacon | None:
        """Return the next sub-goal of a slot; None if the episode hides them, or all are reached."""
        memory = self.memory[slot]
        left = memory["beacons"][memory["next"] :]
        return Beacon(*left[0]) if left and not memory["hidden"] else None

    def start(self, slot: int, observation: Any, extras: Mapping[str, Any]) -> None:
        env, count = self.env_of(slot), self.memory.get(slot, {"count": -1})["count"]
        if slot in self._loaded:
            self._loaded.discard(slot)  # the saved episode is played again, with sub-goals or without as before
        else:
            count += 1
        hidden = bool(np.random.default_rng([self.seed, slot, count]).random() < self.hidden)
        beacons = [] if hidden else [list(beacon) for beacon in self._name(env)]
        self.memory[slot] = {"beacons": beacons, "next": 0, "hidden": hidden, "count": count}

    def _name(self, env: Any) -> list[Beacon]:
        world = env.here()
        if self.author == PLANNER and not self.table:
            return plan_beacons(env.rules, world)
        level = env.content_of(world)
        if level not in self._named and not self.table:
            (self._named[level],) = ask_for_waypoints(self.author, [describe_level(env)], self.most)
        return name_beacons(world, self._named.get(level) or ())

    def reward_step(self, slot: int, step: Step, observation: Any, terminated: bool) -> float:
        env, memory, earned = self.env_of(slot), self.memory[slot], 0.0
        self._loaded.discard(slot)
        while (beacon := self.next_beacon(slot)) is not None and self._is_reached(beacon, env.here()):
            memory["next"] += 1
            earned += self.weight / len(memory["beacons"]) * (1 - 0.9 * env.step_count / env.max_steps)
        return earned

    def _is_reached(self, beacon: Beacon, world: World) -> bool:
        if beacon.changes:
            return world.cells[beacon.y * world.width + beacon.x] != beacon.code
        x, y = world.place
        away = abs(beacon.x - x) + abs(beacon.y - y)
        return away == 0 if self.author == PLANNER and not self.table else away <= self.radius

    def shared(self) -> dict[str, Any]:
        return {"named": dict(self._named)}

    def load_shared(self, state: Mapping[str, Any]) -> None:
        self._named = dict(state["named"])

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        self._loaded = set(self.memory)


def write_table(
    file: str | Path, env: gym.Env[Any, Any], seeds: Iterable[int], author: Any = PLANNER, most: int = 8
) -> int:
    """Write the sub-goals of levels to a file for the option ``table``, so that training asks nobody.

    Args:
        file: JSON, level -> places (x, y).
        env: a gridworld.
        seeds: seeds of the levels.
        author: see `BeaconBonus`.
        most: largest number of sub-goals per level.

    Returns:
        Number of different levels.
    """
    rows: dict[str, list[list[int]]] = {}
    inner: Any = env.unwrapped
    for seed in seeds:
        env.reset(seed=seed)
        world = inner.here()
        if author == PLANNER:
            places: list[list[int]] | None = [[beacon.x, beacon.y] for beacon in plan_beacons(inner.rules, world)]
        else:
            (places,) = ask_for_waypoints(author, [describe_level(inner)], most)
        rows[inner.content_of(world)] = (places or [])[:most]
    Path(file).write_text(json.dumps(rows, indent=0), encoding="utf-8")
    return len(rows)
