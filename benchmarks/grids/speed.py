"""Steps per second of gridworlds and of MiniGrid, and descriptions per second of gridworlds in text.

Each row compares an id of MiniGrid with our family at the same size. Both play the same random actions through
``gymnasium.make`` (without the environment checker; resets count), measured alternately in CPU time of one core; the
medians are compared. A second table has the descriptions per second of states along the same random actions.
"""

from __future__ import annotations

import contextlib
import io
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

from ..harness import Side, Spread, compare, format_markdown, require

MATCHES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("MiniGrid-DoorKey-8x8-v0", "DoorKey", {"size": 8, "obstacles": 0}),
    ("MiniGrid-FourRooms-v0", "FourRooms", {"size": 19}),
    ("MiniGrid-LavaGapS7-v0", "LavaGap", {"size": 7, "rivers": 1, "hazard": "lava"}),
    ("MiniGrid-LavaCrossingS9N3-v0", "LavaGap", {"size": 9, "rivers": 3, "hazard": "lava"}),
    ("MiniGrid-MultiRoom-N4-S5-v1", "MultiRoom", {"rooms": 4, "room_size": 5}),
    ("MiniGrid-BlockedUnlockPickup-v0", "Unlock", {"task": "blocked", "room_size": 6, "distractors": 0}),
    ("MiniGrid-KeyCorridorS4R3-v0", "KeyCorridor", {"rows": 3, "room_size": 4}),
    ("MiniGrid-Dynamic-Obstacles-8x8-v0", "MovingObstacles", {"size": 8, "obstacles": 4}),
    ("MiniGrid-MemoryS13-v0", "HallwayMemory", {"half": 6, "length": "fixed"}),
    ("MiniGrid-ObstructedMaze-1Q-v1", "ObstructedMaze", {"maze": "quarter", "keys": "boxed", "doors": "blocked"}),
    ("BabyAI-GoToLocalS8N7-v0", "BabyAI", {"kind": "goto", "clauses": 1, "rooms": 1, "room_size": 8, "distractors": 7}),
)
"""MiniGrid's id, our family, and its parameters at the same size."""
DESCRIBED = ("map", "view", "words")


@dataclass(frozen=True)
class SpeedFigures:
    """Result of `measure_speed`.

    Attributes:
        minigrid: version of MiniGrid.
        steps: a row for each id of MiniGrid: median steps per second of each side, and the median of their ratio.
        texts: a row for each family: descriptions per second for each of `DESCRIBED`.
    """

    minigrid: str
    steps: list[dict[str, Any]]
    texts: list[dict[str, Any]]

    def tabulate(self) -> str:
        """Return two tables in Markdown."""
        texts = [(f"{row['family']}Text", *(f"{row[form]:,.0f}" for form in DESCRIBED)) for row in self.texts]
        shown = format_markdown(("text twin", "map, descriptions/s", "view", "words"), texts)
        return f"{tabulate_ratios(self.minigrid, self.steps)}\n\n{shown}"

    def to_json(self) -> dict[str, Any]:
        return {"minigrid": self.minigrid, "steps_per_second": self.steps, "descriptions_per_second": self.texts}


def measure_speed(rounds: int, steps: int) -> SpeedFigures:
    """Measure all of `MATCHES`, both sides alternately.

    Args:
        rounds: number of measurements of each side.
        steps: number of steps in one measurement.

    Raises:
        MissingExtra: MiniGrid is not installed.
    """
    require("palaestra bench grids", "grid", "minigrid")
    import minigrid

    found = [measure_match(*match, rounds, steps) for match in MATCHES]
    described = [(name, params) for _, name, params in MATCHES if name != "LavaGap" or params["rivers"] == 1]
    texts = [measure_texts(name, params, rounds, steps) for name, params in described]
    return SpeedFigures(getattr(minigrid, "__version__", ""), found, texts)


def measure_match(theirs_id: str, name: str, params: dict[str, Any], rounds: int, steps: int) -> dict[str, Any]:
    """Return a row: the MiniGrid id, the median steps per second of each side, and the median of their ratio."""
    ours = gym.make(f"palaestra/{name}-v0", disable_env_checker=True, **params)
    return compare_steps(theirs_id, ours, gym.make(theirs_id, disable_env_checker=True), rounds, steps)


def compare_steps(
    theirs_id: str,
    ours: gym.Env[Any, Any],
    theirs: gym.Env[Any, Any],
    rounds: int,
    steps: int,
    with_resets: bool = True,
) -> dict[str, Any]:
    """Measure two environments alternately under the same random actions, in CPU time; return a row of figures.

    Args:
        theirs_id: the MiniGrid id, which names the row.
        ours, theirs: the two sides.
        rounds: number of measurements of each side.
        steps: number of steps in one measurement.
        with_resets: True to time the resets between episodes, too.

    Returns:
        "id", the median steps per second of each side ("ours", "theirs"), and the median of their "ratio".
    """
    pair = (("ours", ours), ("theirs", theirs))
    rates = compare([Side(name, partial(_step_rate, env, steps, with_resets)) for name, env in pair], rounds)
    ratio = Spread.of_ratios(rates["ours"], rates["theirs"]).median
    return {"id": theirs_id, **{name: statistics.median(found) for name, found in rates.items()}, "ratio": ratio}


def _step_rate(env: gym.Env[Any, Any], steps: int, with_resets: bool, seed: int) -> float:
    space: Any = env.action_space
    actions = np.random.default_rng(seed).integers(space.n, size=steps).tolist()
    left_out = 0.0
    with contextlib.redirect_stdout(io.StringIO()):  # BabyAI's resets print rejected levels
        env.reset(seed=seed)
        begun = time.process_time()
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                ended = time.process_time()
                env.reset()
                left_out += 0.0 if with_resets else time.process_time() - ended
        return steps / (time.process_time() - begun - left_out)


def tabulate_ratios(minigrid: str, rows: Sequence[dict[str, Any]]) -> str:
    """Write rows of `compare_steps` as a table in Markdown, below the version of MiniGrid."""
    cells = [(row["id"], f"{row['ours']:,.0f}", f"{row['theirs']:,.0f}", f"{row['ratio']:.1f}") for row in rows]
    return format_markdown((f"MiniGrid {minigrid} id", "ours, steps/s", "MiniGrid, steps/s", "ratio"), cells)


def measure_texts(name: str, params: dict[str, Any], rounds: int, steps: int) -> dict[str, Any]:
    """Return a row: the family, and the median of descriptions per second for each of `DESCRIBED`."""
    found: dict[str, Any] = {"family": name}
    for form in DESCRIBED:
        env: Any = gym.make(f"palaestra/{name}Text-v0", disable_env_checker=True, observation=form, **params).unwrapped
        rng = np.random.default_rng(0)
        env.reset(seed=0)
        states = []
        for _ in range(steps // 4):
            states.append(env.here())
            if any(env.step(env.random_action(env.here(), rng))[2:4]):
                env.reset()
        rates = []
        for _ in range(rounds):
            begun = time.process_time()
            for state in states:
                env.compose(state)
            rates.append(len(states) / (time.process_time() - begun))
        found[form] = statistics.median(rates)
    return found
