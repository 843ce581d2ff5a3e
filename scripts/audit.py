"""``palaestra audit``: signals of bad episodes and of cheats in a file of episodes; accuracy of a reward model;
forgetting between tasks at a language model's newest checkpoint; or a student's loss of success under changed views.

A file of episodes (palaestra eval --out, or a run's trajectories.jsonl) is scanned without a model: loops, failing
calls, failures of the machinery, giving up, and cheats such as pleas to the judge, code that reaches for the grader, or
several answers in one. With --plant, known cheats are also planted in copies of its successful episodes, to measure how
many the scan finds.

The file of a reward model (RewardModel.save) is tried on right and spoilt solutions to held-out questions: accuracy by
kind of flaw, calibration, accuracy without words, mathematics or context, linear probes of its frozen hidden state, and
the best of n by its score.

A language model is updated on each of several tasks separately, with the run's recipe, and the log-probability of the
scripted solver's answer to every task is measured before and after. The run itself is not changed. A task whose
attempts all have the same reward gives no update, and a row of zeros.

A student of a gridworld (ppo, go-explore) is attacked: at every step an adversary changes a few cells of the view to
steer the student towards the adversary's goal, which is learned from preferences between segments of play. For
comparison, the table has the success with the same number of cells changed at random.

examples:
  palaestra audit played.jsonl                              # episodes, scanned for loops and cheats
  palaestra audit runs/first/trajectories.jsonl --top 20 --plant 50
  palaestra audit played.jsonl --html scan.html             # a page to read
  palaestra audit model.safetensors --pairs 300             # a reward model
  palaestra audit runs/first
  palaestra audit runs/first --tasks 16 --samples 32 --json runs/first/interference.json
  palaestra audit runs/keys --cells 1 2 4 --episodes 50     # a student, under attack
  palaestra audit runs/keys --prefer idle --json runs/keys/attack.json
"""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tyro

from ..agents.atomic import check_output, write_atomically
from ..agents.grpo.run.folder import DEFAULT_LEARNER, read_learner
from ..errors import InputError
from ..teachers.interference import Interference, measure_interference
from .audit_attack import attack_student, check_cells, print_attack
from .audit_episodes import audit_episodes
from .audit_model import audit_model


@dataclass(frozen=True)
class AuditOptions:
    run: tyro.conf.Positional[Path]
    """The run's folder, a file of episodes, or the file of a reward model."""
    top: int = 5
    """Files of episodes: number of episodes to name, those with the most signals first."""
    plant: int = 0
    """Files of episodes: number of copies in which each kind of cheat is planted; 0 for none."""
    html: Path | None = None
    """Files of episodes: also write a page with the signals and the worst episodes."""
    pairs: int = 120
    """Reward models: number of pairs of a right and a spoilt solution."""
    tasks: int = 8
    """Language models: number of tasks, spread evenly over the run's range of difficulty."""
    samples: int | None = None
    """Language models: attempts at a task for an update; by default as in the run."""
    cells: tuple[int, ...] = (1, 2)
    """Students: numbers of cells of the view that are changed at each step; the table has rows for each number."""
    episodes: int = 20
    """Students: episodes on held-out tasks for each entry of the table."""
    tries: int = 64
    """Students: random changes that the adversary tries for each cell."""
    play: int = 4_096
    """Students: steps of play from which the adversary learns its goal."""
    prefer: Literal["away", "idle"] = "away"
    """Students: the adversary's goal: lead the agent away from the end of its mission, or make it stay in place."""
    seed: int = 0
    """Seed of the tasks, the attempts, the attack, the planted cheats and the pairs."""
    json: Path | None = None
    """Also write the results to this file, as JSON."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    config = tyro.cli(AuditOptions, args=argv, prog="palaestra audit", description=__doc__)
    check_output(config.json, "--json")
    check_output(config.html, "--html")
    for name, value in (("tasks", config.tasks), ("samples", config.samples)):
        if value is not None and value < 2:
            raise InputError(f"--{name} must be at least 2, not {value}.")
    if config.run.is_file():
        kind = "the file of a reward model" if config.run.suffix == ".safetensors" else "a file of episodes"
    else:
        kind = "a run of a student" if read_learner(config.run) != DEFAULT_LEARNER else "a run of a language model"
    defaults = {field.name: field.default for field in dataclasses.fields(config)}
    for other, (whom, names) in _OPTIONS.items():
        for name in names:
            if other != kind and getattr(config, name) != defaults[name]:
                raise InputError(f"{str(config.run)!r} is {kind}; --{name} is for {whom}, leave it out.")
    if kind == "a file of episodes":
        return audit_episodes(config.run, config.top, config.plant, config.seed, config.json, config.html)
    if kind == "the file of a reward model":
        return audit_model(config.run, config.pairs, config.seed, config.json)
    if kind == "a run of a student":
        return _attack(config)
    student = LearnerStudent(config.run, config.tasks, config.samples, config.seed)
    found = measure_interference(student)
    _print(student.difficulties, found)
    if config.json is not None:
        figures = {name: getattr(found, name) for name in ("own", "others", "negative", "lost")}
        rows = {"difficulty": student.difficulties, "before": found.before.tolist(), "changes": found.changes.tolist()}
        write_atomically(config.json, json.dumps({**figures, **rows}, allow_nan=False) + "\n")
    return 0


_OPTIONS = {
    "a file of episodes": ("files of episodes", ("top", "plant", "html")),
    "the file of a reward model": ("reward models", ("pairs",)),
    "a run of a student": ("students", ("cells", "episodes", "tries", "play", "prefer")),
    "a run of a language model": ("language models", ("tasks", "samples")),
}
"""Target of an audit -> its plural, and options that it alone has."""


def _attack(config: AuditOptions) -> int:
    """Audit a student."""
    from rich.console import Console

    check_cells(config.cells, config.episodes, config.tries)
    # The attack takes minutes: show its progress on standard error, as the table goes to standard output.
    console, errors = Console(), Console(stderr=True)
    with errors.status("") as status:
        agreement, rows = attack_student(
            *(config.run, config.cells, config.episodes, config.tries, config.prefer, config.seed, config.play),
            status.update,
        )
    print_attack(agreement, rows, config.prefer, console)
    if config.json is not None:
        figures = {"prefer": config.prefer, "agreement": agreement, "rows": [dataclasses.asdict(row) for row in rows]}
        write_atomically(config.json, json.dumps(figures, allow_nan=False) + "\n")
    return 0


class LearnerStudent:
    """Policy of a run with the protocol `teachers.interference.AuditedStudent`.

    An update uses the run's recipe, rewards, learning rate and optimiser, on the attempts at one task. log P(success)
    is the log-probability of the scripted solver's actions, a lower bound, as other answers may be right as well.

    Args:
        run: folder of the run, which is not changed.
        tasks: number of tasks, spread evenly over the range of difficulty.
        samples: attempts per update; None: the run's number.
        seed: seed of the tasks and the attempts.

    Raises:
        InputError: there is no run, or it has no checkpoint.
    """

    def __init__(self, run: Path, tasks: int, samples: int | None, seed: int):
        from ..agents.grpo.batch.batch import collate
        from ..agents.grpo.batch.trajectory import Group
        from ..agents.grpo.learner import Learner

        self._learner = learner = Learner.inspect(run)
        self._supply = learner.parts.collector._supply(learner.step + 1, seed)
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
        learner.parts.update.run(groups, [[] for _ in learner.parts.objective.streams], learner.config.lr)

    def get_state(self) -> Any:
        learner = self._learner
        weights = {name: value.clone() for name, value in learner.language.model.state_dict().items()}
        return weights, copy.deepcopy(learner.parts.update.optimizer.state_dict()), learner.parts.objective.state_dict()

    def set_state(self, state: Any) -> None:
        weights, optimizer, objective = state
        self._learner.language.model.load_state_dict(weights)
        self._learner.parts.update.optimizer.load_state_dict(copy.deepcopy(optimizer))
        self._learner.parts.objective.load_state_dict(objective)


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
