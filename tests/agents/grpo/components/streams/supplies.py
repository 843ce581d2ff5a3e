"""Supplies for the sources of streams, with tasks of one number, made for tests."""

from __future__ import annotations

import numpy as np
from palaestra.agents.grpo.batch.trajectory import Group
from palaestra.agents.grpo.components.streams.supply import Supply
from palaestra.agents.grpo.rollouts.episode_starts import RolloutTask

from ...conftest import group, trajectory


class Space:
    """Tasks have one number."""

    def sample(self, rng):
        return {"n": int(rng.integers(100))}


def answer(reward: float, n: int, token: int = 7, tokens: int = 2, logp: float = -1.0):
    extras = {"passage": [f"the text {n}", "goes", "on"]}
    return trajectory(
        reward, [([1], [token] * tokens)], [[logp] * tokens], task_id=f"task {n}", params={"n": n}, extras=extras
    )


def play(tasks) -> list[Group]:
    """Even tasks are always solved; odd ones by the first sample only."""
    return [
        group(
            *(answer(float(task.params["n"] % 2 == 0 or i == 0), task.params["n"], 7 + i) for i in range(task.samples))
        )
        for task in tasks
    ]


def supply(step: int = 1, tasks=(), groups=None, **changes) -> Supply:
    fields = {
        "step": step,
        "steps": 10,
        "rng": np.random.default_rng(step),
        "param_space": Space(),
        "task": lambda params, seed, samples: RolloutTask(params, seed, samples),
        "tasks": tuple(tasks),
        "groups": tuple(play(tasks) if groups is None else groups),
        "play": play,
        "demonstrate": lambda tasks: [answer(1.0, task.params["n"]) for task in tasks],
        "measure": lambda batch: batch.logp_mu,
        "encode": lambda text: tuple(map(ord, text)),
        "context": 1000,
    }
    return Supply(**{**fields, **changes})


def tasks(*numbers: int, samples: int = 4) -> list[RolloutTask]:
    return [RolloutTask({"n": n}, n, samples) for n in numbers]
