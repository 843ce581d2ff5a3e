"""``palaestra bench grids``: steps of gridworlds per second beside MiniGrid's, and their descriptions in text.

Each line is an id of MiniGrid and ours at the same size. Both play the same random actions through ``gymnasium.make``
(without the checker of spaces, resets counted), in turns, in processor time on one core; the median of the rounds is
compared. Then follow the descriptions per second of the text twins, of states along the same random actions.

examples:
  palaestra bench grids
  palaestra bench grids --rounds 7 --steps 8000
  palaestra bench grids --markdown table.md --json grids.json
"""

from __future__ import annotations

import contextlib
import io
import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import tyro

from ...agents.atomic import write_atomically
from ...errors import InputError, MissingExtra

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
class GridBenchOptions:
    rounds: int = 5
    """How often each side is measured."""
    steps: int = 4000
    """Steps of one measurement."""
    markdown: Path | None = None
    """Write the tables here as Markdown."""
    json: Path | None = None
    """Write the figures here as JSON."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    config = tyro.cli(GridBenchOptions, args=argv, prog="palaestra bench grids", description=__doc__)
    if config.rounds < 1 or config.steps < 100:
        raise InputError(
            f"--rounds must be at least 1 and --steps at least 100, not {config.rounds} and {config.steps}."
        )
    try:
        import minigrid
    except ImportError:
        raise MissingExtra("palaestra bench grids", "grid") from None
    version = getattr(minigrid, "__version__", "")
    steps = [measure_match(*match, config) for match in MATCHES]
    texts = [
        measure_texts(name, params, config) for _, name, params in MATCHES if name != "LavaGap" or params["rivers"] == 1
    ]
    text = _tabulate(steps, texts, version)
    print(text)
    if config.markdown is not None:
        write_atomically(config.markdown, text + "\n")
    if config.json is not None:
        figures = {"minigrid": version, "steps_per_second": steps, "descriptions_per_second": texts}
        write_atomically(config.json, json.dumps(figures, indent=2) + "\n")
    return 0


def measure_match(theirs_id: str, name: str, params: dict[str, Any], config: GridBenchOptions) -> dict[str, Any]:
    """Return the medians of steps per second of both sides, and of their ratio."""
    ours = gym.make(f"palaestra/{name}-v0", disable_env_checker=True, **params)
    theirs = gym.make(theirs_id, disable_env_checker=True)
    rates = [
        (_step_rate(ours, turn, config.steps), _step_rate(theirs, turn, config.steps)) for turn in range(config.rounds)
    ]
    return {
        "id": theirs_id,
        "ours": statistics.median(mine for mine, _ in rates),
        "theirs": statistics.median(other for _, other in rates),
        "ratio": statistics.median(mine / other for mine, other in rates),
    }


def _step_rate(env: gym.Env[Any, Any], seed: int, steps: int) -> float:
    space: Any = env.action_space
    actions = np.random.default_rng(seed).integers(space.n, size=steps).tolist()
    with contextlib.redirect_stdout(io.StringIO()):
        env.reset(seed=seed)
    begun = time.process_time()
    # BabyAI's resets print what they reject.
    with contextlib.redirect_stdout(io.StringIO()):
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()
    return steps / (time.process_time() - begun)


def measure_texts(name: str, params: dict[str, Any], config: GridBenchOptions) -> dict[str, Any]:
    """Return the median of descriptions per second in each form."""
    found: dict[str, Any] = {"family": name}
    for form in DESCRIBED:
        env: Any = gym.make(f"palaestra/{name}Text-v0", disable_env_checker=True, observation=form, **params).unwrapped
        rng = np.random.default_rng(0)
        env.reset(seed=0)
        states = []
        for _ in range(config.steps // 4):
            states.append(env.here())
            if any(env.step(env.random_action(env.here(), rng))[2:4]):
                env.reset()
        rates = []
        for _ in range(config.rounds):
            begun = time.process_time()
            for state in states:
                env.compose(state)
            rates.append(len(states) / (time.process_time() - begun))
        found[form] = statistics.median(rates)
    return found


def _tabulate(steps: list[dict[str, Any]], texts: list[dict[str, Any]], version: str) -> str:
    lines = [
        f"| MiniGrid {version} id | ours, steps/s | MiniGrid, steps/s | ratio |",
        "| --- | ---: | ---: | ---: |",
        *(f"| {row['id']} | {row['ours']:,.0f} | {row['theirs']:,.0f} | {row['ratio']:.1f} |" for row in steps),
        "",
        "| text twin | map, descriptions/s | view | words |",
        "| --- | ---: | ---: | ---: |",
        *(f"| {row['family']}Text | {row['map']:,.0f} | {row['view']:,.0f} | {row['words']:,.0f} |" for row in texts),
    ]
    return "\n".join(lines)
