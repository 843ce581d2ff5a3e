"""``palaestra bench students``: the cost of PPO, compared with Stable-Baselines3, on one environment.

Our PPO and Stable-Baselines3's play and learn for equally many steps in one process, in turns, with the same
environments, rollouts, epochs and minibatches. Processor time is compared, because a busy machine affects it least.
"""

from __future__ import annotations

import functools
import importlib
import statistics
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym

from ..errors import MissingExtra
from .harness import Side, Spread, compare, make_table, processor_seconds, read_lines, read_options


@dataclass(frozen=True)
class StudentsBench:
    size: int = 8
    """Size of the rooms of DoorKey."""
    environments: int = 16
    """Number of environments, stepped in one process."""
    iterations: int = 3
    """Number of timed iterations of either side: a rollout of 128 steps in every environment, then four epochs in
    minibatches of 256."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark, print its table and return its exit code."""
    from rich.console import Console

    options = read_options(StudentsBench, "students", argv, __doc__)

    made = {"Palaestra": _make_ours(options), "Stable-Baselines3": _make_theirs(options)}
    sides = [Side(name, functools.partial(processor_seconds, iterate)) for name, iterate in made.items()]
    times = compare(sides, options.iterations)
    steps = 128 * options.environments
    rows = []
    for name, seconds in times.items():
        middle = statistics.median(seconds)
        rows.append((name, f"{middle:.2f} ({min(seconds):.2f}-{max(seconds):.2f})", f"{steps / middle:,.0f}"))
    console = Console()
    console.print(make_table(("PPO of", "processor seconds a rollout", "environment steps a second"), rows))
    ours, theirs = times.values()
    console.print(f"median ratio of an iteration: {Spread.of_ratios(theirs, ours).median:.2f}")
    return 0


def train_student(config: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Train a student in a temporary folder. Return the rows of its evaluations and the rows of its metrics."""
    from ..agents.students.student_run import StudentRun

    with tempfile.TemporaryDirectory(prefix="palaestra-bench-") as folder:
        run = StudentRun.start(Path(folder) / "run", config)
        run.run(notify=lambda sentence: None)
        return read_lines(run.folder.path / "evaluations.jsonl"), read_lines(run.folder.path / "metrics.jsonl")


def _make_ours(options: StudentsBench) -> Callable[[], Any]:
    from ..agents.students import PPOConfig
    from ..agents.students.ppo import PPO
    from ..agents.students.practice import Practice
    from ..agents.students.student_envs import make_environment

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
