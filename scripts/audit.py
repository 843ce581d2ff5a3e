"""``palaestra audit``: what practice on one task takes from the others, measured at a run's newest checkpoint.

The policy is updated on each of some tasks alone, as the run's recipe updates it, and the log-probability of the
scripted solver's answer to every task is measured before and after. The run itself is left as it is. A task whose
attempts are all alike gives no update, and a row of zeros.

examples:
  palaestra audit runs/first
  palaestra audit runs/first --tasks 16 --samples 32 --json runs/first/interference.json
"""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tyro

from ..agents.atomic import write_atomically
from ..errors import InputError
from ..teachers.interference import Interference, measure_interference


@dataclass(frozen=True)
class AuditOptions:
    run: tyro.conf.Positional[Path]
    """The run's folder."""
    tasks: int = 8
    """Tasks, spread evenly over the run's range of difficulty."""
    samples: int | None = None
    """Attempts at a task for its update; by default as in the run."""
    seed: int = 0
    """Of the tasks and the attempts."""
    json: Path | None = None
    """Write the matrix to this file as well."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    config = tyro.cli(AuditOptions, args=argv, prog="palaestra audit", description=__doc__)
    for name, value in (("tasks", config.tasks), ("samples", config.samples)):
        if value is not None and value < 2:
            raise InputError(f"--{name} must be at least 2, not {value}.")
    student = LearnerStudent(config.run, config.tasks, config.samples, config.seed)
    found = measure_interference(student)
    _print(student.difficulties, found)
    if config.json is not None:
        figures = {name: getattr(found, name) for name in ("own", "others", "negative", "lost")}
        rows = {"difficulty": student.difficulties, "before": found.before.tolist(), "changes": found.changes.tolist()}
        write_atomically(config.json, json.dumps({**figures, **rows}, allow_nan=False) + "\n")
    return 0


class LearnerStudent:
    """The policy of a run, as `teachers.interference.AuditedStudent`.

    An update is one call of the run's own: its recipe, rewards, learning rate and optimiser, on the attempts at one
    task. log P(success) is the log-probability of the scripted solver's actions, a lower bound: other answers may be
    right as well.

    Args:
        run: folder of the run; nothing in it is changed.
        tasks: how many, evenly over the range of difficulty.
        samples: attempts for an update; None for the run's own number.
        seed: of the tasks and the attempts.

    Raises:
        InputError: there is no run, or it has no checkpoint.
    """

    def __init__(self, run: Path, tasks: int, samples: int | None, seed: int):
        from ..agents.grpo.batch.batch import collate
        from ..agents.grpo.batch.trajectory import Group
        from ..agents.grpo.learner import Learner

        self._learner = learner = Learner.inspect(run)
        self._supply = learner.collector._supply(learner.step + 1, seed)
        self.difficulties = np.linspace(0.0, 1.0, tasks).tolist()
        rng, space = np.random.default_rng(seed), self._supply.param_space
        self._tasks = [
            self._supply.task(space.at(u), int(rng.integers(2**31)), samples or learner.config.samples)
            for u in self.difficulties
        ]
        solutions = self._supply.demonstrate(self._tasks)
        self._solutions = collate([Group(number, (solution,)) for number, solution in enumerate(solutions)])

    def log_success(self) -> np.ndarray:
        batch = self._solutions
        logps = self._supply.measure(batch).double().cpu().numpy()
        chosen = batch.action.cpu().numpy()
        return np.bincount(batch.episode_of.cpu().numpy()[chosen], logps[chosen], minlength=len(self._tasks))

    def train(self, task: int) -> None:
        learner = self._learner
        groups = self._supply.play([self._tasks[task]])
        learner.update.run(groups, [[] for _ in learner.objective.streams], learner.config.lr)

    def get_state(self) -> Any:
        learner = self._learner
        weights = {name: value.clone() for name, value in learner.language.model.state_dict().items()}
        return weights, copy.deepcopy(learner.update.optimizer.state_dict()), learner.objective.state_dict()

    def set_state(self, state: Any) -> None:
        weights, optimizer, objective = state
        self._learner.language.model.load_state_dict(weights)
        self._learner.update.optimizer.load_state_dict(copy.deepcopy(optimizer))
        self._learner.objective.load_state_dict(objective)


def _print(difficulties: Sequence[float], found: Interference) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    grid = Table(box=box.SIMPLE_HEAD, title="change of log P(success), in nats", title_justify="left")
    grid.add_column("trained at difficulty")
    for difficulty in difficulties:
        grid.add_column(f"{difficulty:.2f}", justify="right", no_wrap=True)
    for difficulty, row in zip(difficulties, found.changes, strict=True):
        grid.add_row(f"{difficulty:.2f}", *(f"{change:+.4f}" for change in row))
    console = Console()
    console.print(grid)
    idle = int((found.changes == 0).all(1).sum())
    console.print(
        f"trained task {found.own:+.4f}, others {found.others:+.4f}; {100 * found.negative:.0f} % of the others lose, "
        f"{found.lost:.4f} nats on average" + (f"; {idle} of {len(difficulties)} tasks gave no update" if idle else "")
    )
