"""Decomposition of returns: what is recovered, and what its rewards do to the optimal policies of a grid."""

from __future__ import annotations

import numpy as np
import pytest
from palaestra.rewards.audit.mdp import gridworld, optimal_policy
from palaestra.rewards.models.return_decomposition import (
    LinearDecomposition,
    NetworkDecomposition,
    fit_linear,
    pack_episodes,
    unpack_episodes,
)

WEIGHTS = np.array([1.0, -0.5, 0.25])


def episodes(count: int = 40):
    rng = np.random.default_rng(0)
    rows = [rng.normal(size=(int(rng.integers(2, 9)), 3)) for _ in range(count)]
    return [(one, float((one @ WEIGHTS).sum())) for one in rows]


def test_least_squares_recover_the_weights_of_an_exact_sum():
    assert fit_linear(episodes()) == pytest.approx(WEIGHTS, abs=1e-9)


def test_a_network_comes_to_the_returns_of_its_episodes():
    data, rng = episodes(8), np.random.default_rng(0)
    network = NetworkDecomposition(3, hidden=32, rate=2e-2, updates=150, batch=8)
    assert all(network.predict(rows).tolist() == [0.0] * len(rows) for rows, _ in data)
    network.learn(data, rng)
    sums = [network.predict(rows).sum() for rows, _ in data]
    assert sums == pytest.approx([total for _, total in data], abs=0.15)


def test_both_go_on_exactly():
    data = episodes(12)
    for make in (lambda: LinearDecomposition(3), lambda: NetworkDecomposition(3, 8)):
        one, two = make(), make()
        one.learn(data, np.random.default_rng(0))
        two.load_state_dict(one.state_dict())
        for model in (one, two):
            model.learn(data, np.random.default_rng(1))
        assert (one.predict(data[0][0]) == two.predict(data[0][0])).all()


def test_episodes_are_packed_and_unpacked():
    data = [(rows.astype(np.float32), total) for rows, total in episodes(3)]
    for (rows, total), (other, again) in zip(data, unpack_episodes(pack_episodes(data)), strict=True):
        assert (rows == other).all()
        assert total == again
    assert unpack_episodes(pack_episodes([])) == []


def grid_episodes(features: np.ndarray):
    """Random walks on a grid from its first cell: factors of their steps, and 1 where they come to the goal."""
    mdp, _ = gridworld(3, 0.0, 0.999)
    rng, found = np.random.default_rng(0), []
    for _ in range(200):
        state, rows = 0, []
        while state != 8 and len(rows) < 30:
            action = int(rng.integers(4))
            rows.append(features[state, action])
            state = int(mdp.transitions[state, action].argmax())
        found.append((np.array(rows), float(state == 8)))
    return found


def test_rewards_that_add_up_to_the_returns_leave_the_optimal_policies_and_others_need_not():
    mdp, sparse = gridworld(3, 0.0, 0.999)
    plain = optimal_policy(mdp, sparse)
    after = mdp.transitions.argmax(-1)
    column, row = after % 3, after // 3
    here = np.arange(9)[:, None]
    # What an action gains on the way to the right and down: four such gains lead to the goal.
    gains = np.stack([column - here % 3, row - here // 3], -1).astype(float)
    gains = np.concatenate([gains, (after == 8)[..., None] & (here != 8)[..., None]], -1)
    linear = LinearDecomposition(3)
    data = grid_episodes(gains)
    linear.learn(data, np.random.default_rng(0))
    assert [linear.predict(rows).sum() for rows, _ in data] == pytest.approx([total for _, total in data], abs=1e-9)
    assert (optimal_policy(mdp, linear.predict(gains.reshape(-1, 3)).reshape(9, 4)) == plain).all()
    # A factor that is there at every step cannot add up to the returns, and makes walking about worth while.
    steps = np.ones((9, 4, 1))
    steps[8] = 0.0
    linear = LinearDecomposition(1)
    linear.learn(grid_episodes(steps), np.random.default_rng(0))
    assert not (optimal_policy(mdp, linear.predict(steps.reshape(-1, 1)).reshape(9, 4)) == plain).all()
