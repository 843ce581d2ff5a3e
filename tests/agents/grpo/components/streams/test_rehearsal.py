"""Rehearsal against numbers worked out by hand."""

from __future__ import annotations

import json

import numpy as np
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.trajectory import Group
from palaestra.agents.grpo.components.streams.rehearsal import Rehearsal
from palaestra.agents.grpo.components.streams.supply import Supply
from palaestra.agents.grpo.rollouts.starts import RolloutTask

from ...conftest import group, trajectory  # isort: skip


class Space:
    """Tasks have one number."""

    def sample(self, rng):
        return {"n": int(rng.integers(100))}


def answer(reward: float, n: int, token: int = 7, tokens: int = 2, logp: float = -1.0):
    return trajectory(reward, [([1], [token] * tokens)], [[logp] * tokens], task_id=f"task {n}", params={"n": n})


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
    }
    return Supply(**{**fields, **changes})


def tasks(*numbers: int, samples: int = 4) -> list[RolloutTask]:
    return [RolloutTask({"n": n}, n, samples) for n in numbers]


def test_only_always_solved_tasks_are_rehearsed_with_the_log_probabilities_of_the_start():
    source = Rehearsal(tasks=20, samples=4, batch=5)
    source.prepare(supply(0))
    drawn = source.draw(supply(1))
    assert len(drawn) == 5
    assert all(t.params["n"] % 2 == 0 and t.success for g in drawn for t in g.trajectories)
    assert (collate(drawn).logp_mu[collate(drawn).action] == -1).all()


def test_rehearsal_knows_its_tasks_after_resuming_without_playing_again():
    one, other = Rehearsal(tasks=20), Rehearsal(tasks=20)
    one.prepare(supply(0))
    other.load_state_dict(json.loads(json.dumps(one.state_dict())))

    def never(tasks):
        raise AssertionError

    assert one.draw(supply(3)) == other.draw(supply(3, play=never))
