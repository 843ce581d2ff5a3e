"""Critic against numbers worked out by hand."""

from __future__ import annotations

import pytest
import torch
from palaestra.agents.grpo.components.auxiliaries.auxiliary import ValueHead

from .conftest import PASSES, make_auxiliary, measure_batch  # isort: skip


def test_a_fresh_head_is_worth_nothing_and_depends_on_its_seed_alone():
    x = torch.randn(5, 8, dtype=torch.float64)
    assert (ValueHead(8, 4, seed=1)(x) == 0).all()
    assert torch.equal(ValueHead(8, 4, seed=1).first.weight, ValueHead(8, 4, seed=1).first.weight)
    assert not torch.equal(ValueHead(8, 4, seed=1).first.weight, ValueHead(8, 4, seed=2).first.weight)


def test_the_critic_learns_the_return(small):
    critic, batch = make_auxiliary("critic", small, decay=1.0, lr=3e-3, passes=20), measure_batch(small)
    errors = []
    for _ in range(30):
        found = critic.measure(batch, PASSES)
        total, count = critic.update(batch.with_(**found), PASSES)["critic_error"]
        errors.append(total / count)
    # At first V = 0 and the targets are the outcomes: 4 of the 10 tokens have 1. The first state is the same in all
    # four episodes, of which two succeed: 4 x 1/4 of squared error stay.
    assert errors[0] == pytest.approx(0.4)
    assert errors[-1] == pytest.approx(0.1, abs=0.02)


def test_the_critics_target_is_advantage_plus_value(small):
    # One token a state, V = 0 everywhere and decay 0: the target is the next reward, so only last tokens have 1.
    critic, batch = make_auxiliary("critic", small, decay=0.0), measure_batch(small)
    error, count = critic.update(batch.with_(**critic.measure(batch, PASSES)), PASSES)["critic_error"]
    assert (error, count) == (2.0, 10)


def test_the_critics_target_bootstraps_from_the_measured_value(small):
    # Measured values of 1/2 and decay 0: six tokens have 1/2 as their target, the last ones the outcomes 1, 0, 0, 1.
    critic, batch = make_auxiliary("critic", small, decay=0.0), measure_batch(small)
    error, _ = critic.update(batch.with_(value=torch.full((len(batch.ids),), 0.5)), PASSES)["critic_error"]
    assert error == pytest.approx(6 / 4 + 2)


def test_the_critic_of_a_penalised_return_learns_the_penalised_return(small):
    # beta 0.5 and a gap of 0.2 nats take 0.1 from the reward of each of the ten tokens; decay 0.
    critic, batch = make_auxiliary("critic", small, decay=0.0, beta=0.5), measure_batch(small)
    assert {"logp_ref", "logp_old", "hidden"} <= critic.needs
    batch = batch.with_(logp_ref=batch.logp_old - 0.2, **critic.measure(batch, PASSES))
    error, _ = critic.update(batch, PASSES)["critic_error"]
    assert error == pytest.approx(8 * 0.01 + 2 * 0.81)
