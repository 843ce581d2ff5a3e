"""``palaestra bench rewards``: how soon tabular Q-learning solves a gridworld, with and without designed rewards.

Each designer of ``palaestra list designers`` computes a reward for every level it meets, from the level's table of
states; a run of ``palaestra train --learner q --bonus "designed(designer='NAME')"`` then learns from it. Evaluations
use the environment's reward.

examples:
  palaestra bench rewards
  palaestra bench rewards --designers none exprd barfi --steps 20000 --seeds 3
  palaestra bench rewards --designers none explors --initial 0.34
  palaestra bench rewards --env palaestra/LavaGap-v0 --axis rivers=1 --plot rewards.png --json rewards.json
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from ..scripts.axes import parse_axes
from .harness import check_least, make_table, read_options, require, track, write_json
from .students import train_student

NONE = "none"


@dataclass(frozen=True)
class RewardBench:
    env: str = "palaestra/DoorKey-v0"
    """A gridworld whose levels have at most 2,000 states."""
    axis: tuple[str, ...] = ("size=5", "obstacles=0")
    """Restrictions of axes: name=value, name=low:high or name=choice,choice."""
    designers: tuple[str, ...] = (NONE, "pbrs", "exprd", "expadard", "explors", "barfi")
    """Names from palaestra list designers, with arguments of the bonus "designed" if any, such as "exprd(budget=3)";
    and "none" for the environment's reward alone."""
    steps: int = 16_000
    """Number of environment steps of a run."""
    checkpoints: int = 4
    """Number of evaluations during a run, at equal distances."""
    episodes: int = 40
    """Number of held-out levels of an evaluation."""
    seeds: int = 2
    """Number of runs of each designer."""
    discount: float = 0.97
    """Discount of the student and of the design."""
    initial: float = 0.0
    """The student's initial value of every action. If a designer adds bonuses for reaching states, as explors does, it
    should be at least the bonus divided by 1 - discount: at 0, actions already tried look better than untried ones."""
    plot: Path | None = None
    """Draw the curves into this file (needs the extra [train])."""
    json: Path | None = None
    """Write the figures here as JSON."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark, print its tables and return its exit code."""
    from rich.console import Console

    options = read_options(RewardBench, "rewards", argv, __doc__)
    check_least(options, 1, "steps", "checkpoints", "episodes", "seeds")
    designs = {name: _describe(options, name) for name in options.designers}
    console = Console()
    head = ("designer", "states with another reward", "of", "seconds", "informativeness", "optimal policies")
    console.print(f"One level of {options.env}:")
    console.print(make_table(head, [(name, *map(str, row.values())) for name, row in designs.items()]))
    curves: dict[str, list[list[tuple[int, float]]]] = {name: [] for name in designs}
    for name, seed in track([(name, seed) for seed in range(options.seeds) for name in designs], "training"):
        curves[name].append(_train(options, name, seed))
    steps = [step for step, _ in next(iter(curves.values()))[0]]
    means = {name: np.array([[success for _, success in row] for row in rows]).mean(0) for name, rows in curves.items()}
    rows = [(name, *(f"{value:.0%}" for value in mean), f"{mean[1:].mean():.0%}") for name, mean in means.items()]
    head = ("held-out levels solved after", *(f"{step:,}" for step in steps), "mean of all but the first")
    console.print(make_table(head, rows))
    write_json(options.json, {"designs": designs, "curves": curves})
    if options.plot is not None:
        require("--plot", "train", "matplotlib")
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6, 4))
        axis = figure.subplots()
        for name, mean in means.items():
            axis.plot(steps, mean, label=name)
        axis.set(xlabel="environment steps", ylabel="held-out levels solved", ylim=(0, 1))
        axis.legend()
        figure.savefig(options.plot, bbox_inches="tight")
    return 0


def _bonus(name: str) -> tuple[str, dict[str, Any]]:
    """Split a text such as "exprd(budget=3)" into the designer and its options."""
    from ..agents.grpo.recipes.recipe import Component

    component = Component.parse(name)
    return component.name, dict(component.params)


def _describe(options: RewardBench, name: str) -> Mapping[str, Any]:
    """Design the reward of one level and return its row of the table."""
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
    """Train one student; return (step, success) of each evaluation."""
    from ..agents.students import QConfig

    env: Any = gym.make(options.env, disable_env_checker=True).unwrapped
    axes = parse_axes(list(options.axis), env.param_space)
    designer, extra = _bonus(name)
    text = f"designed({', '.join(f'{key}={value!r}' for key, value in {'designer': designer, **extra}.items())})"
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
    return [(int(row["step"]), float(row["success"])) for row in train_student(config)[0]]
