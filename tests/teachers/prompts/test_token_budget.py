"""Train long, think short (arXiv 2508.08940)."""

from __future__ import annotations

import gymnasium as gym
import pytest
from palaestra.errors import InputError
from palaestra.teachers import Outcome, make
from palaestra.teachers.prompts.token_budget import token_budget


@pytest.mark.parametrize(("step", "tokens"), [(0, 256), (99, 256), (100, 179.2), (199, 179.2), (250, 125.44)])
def test_the_papers_schedule(step, tokens):
    assert token_budget(step) == pytest.approx(tokens)


def test_a_budget_never_falls_below_one_token():
    assert token_budget(10**6) == 1.0
    assert token_budget(10**6, decay="linear") == 1.0


def test_the_linear_schedule_takes_the_same_off_each_time():
    assert [token_budget(step, 100, 0.8, 10, "linear") for step in (0, 10, 25, 40)] == pytest.approx([100, 80, 60, 20])


def test_every_proposal_carries_the_budget_of_its_step():
    teacher = make("token-budget", gym.spaces.Discrete(6), start=100, factor=0.5, every=2)
    limits = []
    for _ in range(5):
        proposals = teacher.propose(6)
        assert sorted(p.task for p in proposals) == list(range(6))
        limits.append({p.meta["max_tokens"] for p in proposals})
        teacher.observe([Outcome(p.id, p.task, [1.0]) for p in proposals])
    assert limits == [{100}, {100}, {50}, {50}, {25}]


@pytest.mark.parametrize("bad", [{"start": 0}, {"factor": 0.0}, {"factor": 1.5}, {"every": 0}, {"decay": "cosine"}])
def test_options_out_of_range_are_refused(bad):
    with pytest.raises(InputError, match=next(iter(bad))):
        make("token-budget", gym.spaces.Discrete(3), **bad)
