"""Token reward against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.forward import Forward
from palaestra.agents.grpo.recipes.stages import AUXILIARIES

from ...conftest import group, trajectory  # isort: skip


FORWARD = Forward()


def answers(*rewards: float, lengths=(3, 2, 4, 1)):
    """One group: right answers end in 11, wrong ones in 12."""
    members = [
        trajectory(r, [([5, 6], [7 + i] * (n - 1) + [11 if r > 0.5 else 12])], success=r > 0.5)
        for i, (r, n) in enumerate(zip(rewards, lengths, strict=False))
    ]
    return group(*members)


def measured(small, *groups):
    batch = collate(groups or [answers(1.0, 0.0, 0.0, 1.0)])
    out = FORWARD.measure(small.model, batch, hidden=True)
    return batch.with_(logp_old=out.logp, logp_ref=out.logp, hidden=out.hidden)


def attached(name: str, small, **params):
    model = AUXILIARIES[name](**params)
    model.attach(small.model, small.model)
    return model


def test_an_untrained_token_reward_has_loss_ln_2(small):
    model = attached("token_reward", small, when="after")
    assert model.update(measured(small), FORWARD)["token_reward_loss"] == (pytest.approx(math.log(2)), 1)


def test_token_rewards_tell_right_from_wrong(small):
    model, batch = attached("token_reward", small, passes=200), measured(small)
    model.train_early(batch, FORWARD)
    score = model.measure(batch, FORWARD)["value"]
    mean = batch.sum_by_episode(score) / batch.action_count
    assert mean[[0, 3]].min() > 0 > mean[[1, 2]].max()
