"""Every registered teacher, at its defaults, proposes other things than uniform practice once outcomes have come.

Two copies of a teacher with one seed teach two students for the same number of outcomes. Uniform practice proposes the
same to both; so does any teacher that does not listen. What is compared is all that a proposal says: task, number of
rollouts, training or evaluation, and the requests to the learner.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
from palaestra.envs.axes import IntAxis
from palaestra.envs.param_space import ParamSpace
from palaestra.teachers import TEACHERS, Outcome, make

LEVELS = 20
SPACE = ParamSpace([IntAxis("level", 0, LEVELS - 1)])
ROUNDS, BATCH, GROUP = 80, 8, 8

BY_SCHEDULE = {
    "blocks": "draws blocks of arms uniformly",
    "annealed": "the mixture of stages depends on the number of proposals alone",
    "tiers": "the mixture of tiers depends on the number of proposals alone",
    "cumulative": "a stage is added after each number of proposals in its plan",
    "cyclical": "the size of the random subset rises and falls with the number of epochs",
    "format-stages": "each format is trained for a fixed number of tasks",
    "horizon": "at its default mode the level rises after a fixed number of tasks",
}
"""Teachers whose proposals depend on time by design. They differ from uniform practice all the same."""

BY_REQUEST = {
    "dapo": ("band", "prompts come in turn; the learner drops the groups outside the band"),
    "token-budget": ("max_tokens", "prompts are uniform; the budget shrinks with the batches observed"),
}
"""Teachers that leave the choice of tasks to chance or turn, and whose mechanism is a request to the learner."""

OPTIONS = {"sfl": {"capacity": 8, "resample": (100, 50)}}
"""SFL evaluates 5,000 levels before it chooses any: too long for a test."""

UNIFORM = "random"


def practise(name: str, chances: Callable[[float], np.ndarray], **options) -> list[list[tuple]]:
    """What the teacher proposes in each round to a student who wins at ``chances(share of the rounds)``."""
    teacher, rng, rounds = make(name, SPACE, seed=0, **options), np.random.default_rng(1), []
    for round_ in range(ROUNDS):
        solves = chances(round_ / ROUNDS)
        proposals, outcomes = teacher.propose(BATCH), []
        for p in proposals:
            won = rng.random(p.n or GROUP) < solves[p.task["level"]]
            extras = {need: np.where(won, 0.75, 0.25).tolist() for need in teacher.needs}
            outcomes.append(Outcome(p.id, p.task, won.astype(float).tolist(), won.tolist(), extras=extras))
        teacher.observe(outcomes)
        rounds.append([(p.task["level"], p.n, p.train, json.dumps(dict(p.meta), sort_keys=True)) for p in proposals])
    return rounds


def quick_learner(share: float) -> np.ndarray:
    """Chances of success at each level: half of the levels at first, then nearly all."""
    return np.clip((10 + 8 * share - np.arange(LEVELS)) / 4, 0, 1)


def contrarian(share: float) -> np.ndarray:
    """One who is better at the harder levels, and sure of none."""
    return np.linspace(0.05, 0.8, LEVELS)


@pytest.mark.parametrize("name", sorted(set(TEACHERS) - {UNIFORM} - set(BY_SCHEDULE) - set(BY_REQUEST)))
def test_other_outcomes_lead_to_other_proposals(name):
    options = OPTIONS.get(name, {})
    first, second = practise(name, quick_learner, **options), practise(name, contrarian, **options)
    assert first[0] == second[0]  # before any outcome
    assert first != second


@pytest.mark.parametrize("name", [UNIFORM, *BY_SCHEDULE])
def test_uniform_practice_and_schedules_do_not_listen(name):
    assert practise(name, quick_learner) == practise(name, contrarian)


@pytest.mark.parametrize("name", sorted(BY_SCHEDULE))
def test_schedules_practise_other_levels_than_uniform_practice(name):
    levels = [p[0] for round_ in practise(name, quick_learner) for p in round_]
    error = np.sqrt((LEVELS**2 - 1) / 12 / len(levels))  # of the mean level under uniform practice
    assert abs(np.mean(levels) - (LEVELS - 1) / 2) > 4 * error


@pytest.mark.parametrize(("name", "request_", "why"), [(name, *row) for name, row in BY_REQUEST.items()])
def test_requests_stand_in_every_proposal(name, request_, why):
    rounds = practise(name, quick_learner)
    assert all(request_ in json.loads(p[3]) for round_ in rounds for p in round_), why
    assert all(json.loads(p[3]) == {} for round_ in practise(UNIFORM, quick_learner) for p in round_)


def test_the_token_budget_shrinks_with_the_batches_observed():
    rounds = practise("token-budget", quick_learner, every=10)
    budgets = [json.loads(round_[0][3])["max_tokens"] for round_ in rounds]
    assert budgets == sorted(budgets, reverse=True)
    assert budgets[-1] < budgets[0]
