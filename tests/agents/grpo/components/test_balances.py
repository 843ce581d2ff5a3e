"""The balance of imitation and reinforcement, by hand and in steps typed as on the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest
from palaestra.agents.grpo.components.balances import AdaptiveBalance
from palaestra.agents.grpo.measures.influence import utility_slope
from palaestra.agents.grpo.objective.objective import Objective
from palaestra.agents.grpo.recipes import RECIPES
from palaestra.errors import InputError

from ....one_step import GUESS  # isort: skip


def shares(balance, entropies, slope=0.0):
    return [balance.after_step(entropy, slope) and balance.share for entropy in entropies]


def test_entropy_above_its_target_raises_the_share_of_imitation_to_its_cap_and_below_lowers_it():
    balance = AdaptiveBalance(start=0.5, entropy_rate=0.2, target=1.0)
    assert shares(balance, [2.0] * 4) == pytest.approx([0.7, 0.9, 1.0, 1.0])
    assert shares(balance, [0.5] * 2) == pytest.approx([0.9, 0.8])
    assert shares(balance, [1.0] * 2) == pytest.approx([0.8, 0.8])


def test_the_target_is_the_mean_of_the_first_steps_in_which_the_share_stays():
    balance = AdaptiveBalance(start=0.5, entropy_rate=0.1, calibration=2)
    assert shares(balance, [1.0, 3.0, 3.0]) == pytest.approx([0.5, 0.5, 0.6])
    again = AdaptiveBalance(start=0.1, entropy_rate=0.1, calibration=2)
    again.load_state_dict(json.loads(json.dumps(balance.state_dict())))
    assert shares(again, [3.0]) == shares(balance, [3.0])


def test_the_share_follows_the_slope_of_the_utility():
    balance = AdaptiveBalance(start=0.5, utility_rate=0.1, target=1.0)
    assert shares(balance, [1.0], slope=-1.0) == pytest.approx([0.4])
    one, two = np.array([3.0, 0.0]), np.array([0.0, 4.0])
    assert utility_slope(one, imitation=one, reinforcement=two) == pytest.approx(3 / 7)
    assert utility_slope(two, imitation=one, reinforcement=two) == pytest.approx(-4 / 7)
    assert utility_slope(one, imitation=one, reinforcement=one) == 0.0
    # By differences: the utility -loss after a short step with a little more of imitation, loss = one . w.
    step, mu = 1e-3, 1e-3
    change = -one @ (-step * (mu * one - mu * two)) / mu / step
    assert change == pytest.approx(utility_slope(one, one, two) * 3 * (3 + 4))
    assert utility_slope(one, 0 * one, 0 * one) == 0.0


def test_a_share_of_one_is_imitation_alone(step):
    line = f"{GUESS} --recipe amft"
    plain, alone = step(f"{line} --balance none"), step(f"{line} --balance amft(start=1.0)")
    assert plain.first_difference(alone) == "weight"
    assert not any(weight.any() for weight in alone.values("weight")[0])
    assert plain.differences(alone).isdisjoint({"stream weight"})
    assert alone.metrics[0]["balance"] == 1.0


def test_a_run_moves_the_share_by_what_it_measures(step):
    line = f"{GUESS} --recipe amft --steps 2 --balance amft(target=0.0,entropy_rate=0.1,utility_rate=0.1)"
    first, second = step(line).metrics
    assert first["balance"] == 0.5
    assert 0 < abs(first["balance_slope"]) <= 1
    assert second["balance"] == pytest.approx(0.5 + 0.1 * first["balance_entropy"] + 0.1 * first["balance_slope"])


def test_a_balance_needs_a_stream_and_a_share_within_its_bounds():
    with pytest.raises(InputError, match="'grpo' has no stream"):
        Objective(RECIPES["grpo"].with_(balance="amft"))
    with pytest.raises(InputError, match=r"start=0.9 must lie between low=0.0 and high=0.5"):
        AdaptiveBalance(start=0.9, high=0.5)
