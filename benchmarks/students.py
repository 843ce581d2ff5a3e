"""``palaestra bench students``: the cost of PPO beside that of Stable-Baselines3, on one environment.

Both play and learn for the same number of steps in one process, one after the other in turns, with the same
environments, rollouts, epochs and minibatches. Processor time is compared, as a busy machine moves it least.
"""

from __future__ import annotations

import importlib
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import tyro

from ..errors import MissingExtra


@dataclass(frozen=True)
class StudentsBench:
    size: int = 8
    """Of the rooms of DoorKey."""
    environments: int = 16
    """Stepped side by side, in one process."""
    iterations: int = 3
    """Rollouts of 128 steps of every environment, each with four epochs in minibatches of 256, timed on both sides."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark and print its table; its exit code."""
    from rich.console import Console
    from rich.table import Table

    options = tyro.cli(StudentsBench, args=argv, prog="palaestra bench students", description=__doc__)
    ours, theirs = _make_ours(options), _make_theirs(options)
    times: dict[str, list[float]] = {"Palaestra": [], "Stable-Baselines3": []}
    for _ in range(options.iterations):
        for name, iterate in (("Palaestra", ours), ("Stable-Baselines3", theirs)):
            begun = time.process_time()
            iterate()
            times[name].append(time.process_time() - begun)
    steps = 128 * options.environments
    table = Table("PPO of", "processor seconds a rollout", "environment steps a second")
    for name, seconds in times.items():
        middle = statistics.median(seconds)
        table.add_row(name, f"{middle:.2f} ({min(seconds):.2f}-{max(seconds):.2f})", f"{steps / middle:,.0f}")
    console = Console()
    console.print(table)
    ratios = [theirs / ours for ours, theirs in zip(times["Palaestra"], times["Stable-Baselines3"], strict=True)]
    console.print(f"median ratio of an iteration: {statistics.median(ratios):.2f}")
    return 0


def _make_ours(options: StudentsBench) -> Callable[[], Any]:
    from ..agents.students import PPOConfig
    from ..agents.students.places import make_environment
    from ..agents.students.ppo import PPO
    from ..agents.students.practice import Practice

    config = PPOConfig(axes={"size": options.size, "obstacles": 0}, environments=options.environments)
    practice = Practice(lambda: make_environment(config, "train"), config.environments, 0)
    practice.begin()
    student = PPO(config, practice)
    return lambda: student.iterate(0.0)


def _make_theirs(options: StudentsBench) -> Callable[[], Any]:
    try:
        baselines = importlib.import_module("stable_baselines3")
        vectors = importlib.import_module("stable_baselines3.common.vec_env")
    except ModuleNotFoundError as error:
        if error.name not in ("stable_baselines3", "cloudpickle"):
            raise
        raise MissingExtra("the other side", "ppo") from error
    wrappers = importlib.import_module("minigrid.wrappers")

    def make() -> gym.Env[Any, Any]:
        return wrappers.ImgObsWrapper(gym.make("palaestra/DoorKey-v0", size=options.size, obstacles=0))

    model = baselines.PPO(
        *("MlpPolicy", vectors.DummyVecEnv([make] * options.environments)),
        **{"n_steps": 128, "batch_size": 256, "n_epochs": 4, "seed": 0, "device": "cpu"},
    )
    return lambda: model.learn(128 * options.environments, reset_num_timesteps=False)


if __name__ == "__main__":
    from ..scripts.cli import run_guarded

    sys.exit(run_guarded(main, sys.argv[1:]))
