"""Token reward against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest

from .conftest import PASSES, make_auxiliary, measure_batch  # isort: skip


def test_an_untrained_token_reward_has_loss_ln_2(small):
    model = make_auxiliary("token_reward", small, when="after")
    assert model.update(measure_batch(small), PASSES)["token_reward_loss"] == (pytest.approx(math.log(2)), 1)


def test_token_rewards_tell_right_from_wrong(small):
    model, batch = make_auxiliary("token_reward", small, passes=200), measure_batch(small)
    model.train_early(batch, PASSES)
    score = model.measure(batch, PASSES)["value"]
    mean = batch.sum_by_episode(score) / batch.action_count
    assert mean[[0, 3]].min() > 0 > mean[[1, 2]].max()
