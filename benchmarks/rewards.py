"""``palaestra bench rewards``: how soon tabular Q-learning solves a gridworld with designed rewards, and without.

Each designer of ``palaestra list designers`` finds a reward for every level that is met, by its table of states; a run
of ``palaestra train --learner q --bonus "designed(designer='NAME')"`` then learns from it. Evaluations are without.

examples:
  palaestra bench rewards
  palaestra bench rewards --designers none exprd barfi --steps 20000 --seeds 3
  palaestra bench rewards --designers none explors --initial 0.34
  palaestra bench rewards --env palaestra/LavaGap-v0 --axis rivers=1 --plot rewards.png --json rewards.json
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tyro

from ..agents.atomic import check_output, write_atomically
from ..errors import InputError
from ..scripts.axes import parse_axes

NONE = "none"


@dataclass(frozen=True)
class RewardBench:
    env: str = "palaestra/DoorKey-v0"
    """A gridworld whose levels have at most 2,000 states."""
    axis: tuple[str, ...] = ("size=5", "obstacles=0")
    """Restrict axes: name=value, name=low:high or name=choice,choice."""
    designers: tuple[str, ...] = (NONE, "pbrs", "exprd", "expadard", "explors", "barfi")
    """Names of palaestra list designers, with arguments of the bonus "designed" if any, such as "exprd(budget=3)"; and
    "none", the environment's reward alone."""
    steps: int = 16_000
    """Environment steps of a run."""
    checkpoints: int = 4
    """Evaluations on the way, at equal distances."""
    episodes: int = 40
    """Held-out levels of an evaluation."""
    seeds: int = 2
    """Runs of each designer."""
    discount: float = 0.97
    """Of student and design."""
    initial: float = 0.0
    """The student's value of what was never tried. Where a designer has a bonus for what is reached, as explors has,
    at least the bonus divided by 1 - discount: at 0, what was tried looks better than what was not."""
    plot: Path | None = None
    """Draw the curves into this file (extra [train])."""
    json: Path | None = None
    """Write the figures here as JSON."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark and print its tables; its exit code."""
    from rich.console import Console
    from rich.progress import track
    from rich.table import Table

    options = tyro.cli(RewardBench, args=argv, prog="palaestra bench rewards", description=__doc__)
    check_output(options.json, "--json")
    for name in ("steps", "checkpoints", "episodes", "seeds"):
        if getattr(options, name) < 1:
            raise InputError(f"--{name} must be at least 1, not {getattr(options, name)}.")
    designs = {name: _describe(options, name) for name in options.designers}
    console = Console()
    table = Table("designer", "states with another reward", "of", "seconds", "informativeness", "optimal policies")
    for name, row in designs.items():
        table.add_row(name, *(str(value) for value in row.values()))
    console.print(f"One level of {options.env}:")
    console.print(table)
    curves: dict[str, list[list[tuple[int, float]]]] = {name: [] for name in designs}
    runs = [(name, seed) for seed in range(options.seeds) for name in designs]
    for name, seed in track(runs, "training", console=Console(stderr=True), transient=True):
        curves[name].append(_train(options, name, seed))
    steps = [step for step, _ in next(iter(curves.values()))[0]]
    table = Table("held-out levels solved after", *(f"{step:,}" for step in steps), "mean of all but the first")
    for name, rows in curves.items():
        means = np.array([[success for _, success in row] for row in rows]).mean(0)
        table.add_row(name, *(f"{value:.0%}" for value in means), f"{means[1:].mean():.0%}")
    console.print(table)
    if options.json is not None:
        write_atomically(options.json, json.dumps({"designs": designs, "curves": curves}, indent=1) + "\n")
    if options.plot is not None:
        _draw(options.plot, curves)
    return 0


def _bonus(name: str) -> tuple[str, dict[str, Any]]:
    """The designer and its options in a text such as "exprd(budget=3)"."""
    from ..agents.grpo.recipes.recipe import Component

    component = Component.parse(name)
    return component.name, dict(component.params)


def _describe(options: RewardBench, name: str) -> Mapping[str, Any]:
    """Design the reward of one level and describe it."""
    import gymnasium as gym

    from ..agents.students.bonuses.designed import DesignedBonus
    from ..rewards.audit.mdp import optimal_policy
    from ..rewards.tabular.explicable import informativeness

    env: Any = gym.make(options.env, disable_env_checker=True).unwrapped
    axes = parse_axes(list(options.axis), env.param_space)
    params = {axis: choice[0] if isinstance(choice, Sequence) else choice for axis, choice in axes.items()}
    observation, info = env.reset(seed=0, options={"params": params})
    designer, extra = _bonus(name)
    bonus = DesignedBonus("pbrs", options.discount) if name == NONE else None
    if bonus is None:
        own = {key: extra.pop(key) for key in ("weight", "auxiliary", "every") if key in extra}
        bonus = DesignedBonus(designer, options.discount, **own, options=extra)
    bonus.attach([env])
    begun = time.perf_counter()
    bonus.start(0, observation, info["extras"])
    seconds = time.perf_counter() - begun
    (level,) = bonus.levels.values()
    problem = level.problem
    table = problem.primary if name == NONE else level.table
    new, old = optimal_policy(problem.mdp, table), problem.optimal
    kept = "the same" if (new == old).all() else "some of them, no others" if (new <= old).all() else "others"
    return {
        "changed": int((np.abs(table - problem.primary) > 1e-9).any(1).sum()),
        "states": int((~problem.terminal).sum()),
        "seconds": "" if name == NONE else f"{seconds:.2f}",
        "informativeness": f"{informativeness(problem, table):.4f}",
        "optimal": kept,
    }


def _train(options: RewardBench, name: str, seed: int) -> list[tuple[int, float]]:
    """Train one student in a folder that is removed again; (step, success) of its evaluations."""
    import gymnasium as gym

    from ..agents.students import QConfig
    from ..agents.students.student_run import StudentRun

    env = gym.make(options.env, disable_env_checker=True)
    axes = parse_axes(list(options.axis), getattr(env.unwrapped, "param_space"))  # noqa: B009
    env.close()
    words = [f"{key}={value!r}" for key, value in _bonus(name)[1].items()]
    text = f"designed({', '.join([f'designer={_bonus(name)[0]!r}', *words])})"
    every = max(options.steps // options.checkpoints, 1)
    config = QConfig(
        env=options.env,
        axes=dict(axes),
        bonus=() if name == NONE else (text,),
        seed=seed,
        steps=options.steps,
        discount=options.discount,
        initial=options.initial,
        log_every=min(2048, every),
        eval_every=every,
        eval_episodes=options.episodes,
        final_episodes=options.episodes,
        checkpoint_every=2 * options.steps,
        track=(),
    )
    with tempfile.TemporaryDirectory(prefix="palaestra-rewards-") as folder:
        run = StudentRun.start(Path(folder) / "run", config)
        run.run(notify=lambda sentence: None)
        rows = (run.folder.path / "evaluations.jsonl").read_text(encoding="utf-8").splitlines()
    return [(int(row["step"]), float(row["success"])) for row in map(json.loads, rows)]


def _draw(path: Path, curves: Mapping[str, list[list[tuple[int, float]]]]) -> None:
    from ..errors import MissingExtra

    try:
        import matplotlib
    except ImportError:
        raise MissingExtra("--plot", "train") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(6, 4))
    for name, rows in curves.items():
        steps = [step for step, _ in rows[0]]
        axis.plot(steps, np.array([[success for _, success in row] for row in rows]).mean(0), label=name)
    axis.set(xlabel="environment steps", ylabel="held-out levels solved", ylim=(0, 1))
    axis.legend()
    figure.savefig(path, bbox_inches="tight")
    pyplot.close(figure)
