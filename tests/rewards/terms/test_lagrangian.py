from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make
from palaestra.rewards.terms.lagrangian import mixing_weights

Maker = Callable[..., Episode]


FORM = "<think>t</think><answer>4</answer>"


def test_full_multipliers_leave_nothing_of_the_task():
    assert mixing_weights([1.0, 1.0]) == [0.0, 1.0, 1.0]


def test_one_constraint_makes_a_convex_combination():
    for multiplier in (0.0, 0.3, 1.0):
        weights = mixing_weights([multiplier])
        assert sum(weights) == pytest.approx(1.0)
        assert min(weights) >= 0.0


@pytest.mark.parametrize("mode", ["inequality", "equality"])
def test_below_its_threshold_a_multiplier_strictly_rises_and_at_it_stays(mode: str):
    reward = make("lagrangian", mode=mode)
    start = reward.multipliers["format"]
    reward.update({"format": 0.9})
    assert reward.multipliers["format"] == start
    values = [start]
    for _ in range(5):
        reward.update({"format": 0.2})
        values.append(reward.multipliers["format"])
    assert all(later > earlier for earlier, later in pairwise(values))


def test_above_its_threshold_a_multiplier_falls_and_an_equality_may_turn_negative():
    reward = make("lagrangian", mode="equality", thresholds={"format": 0.5}, constraints={"format": make("format")})
    reward.update({"format": 1.0})
    assert reward.multipliers["format"] < 0.0


def test_one_step_by_hand():
    reward = make("lagrangian", lr=0.01, momentum=0.1)
    reward.update({"format": 0.5})  # sigmoid' = 0.25, times -0.4
    assert reward.xi["format"] == pytest.approx(0.001)
    reward.update({"format": 0.9})  # momentum alone
    assert reward.xi["format"] == pytest.approx(0.0011, abs=1e-9)


def test_a_batch_is_mixed_first_and_learnt_from_then(episode: Maker):
    reward = make("lagrangian")
    verdicts = reward.batch([[episode(True)], [episode(False, text=FORM)], [episode(valid=False)]])
    assert [verdict.reward for verdict in (verdicts[0][0], verdicts[1][0])] == [0.5, 0.5]
    assert not verdicts[2][0].valid
    assert reward.xi["format"] == pytest.approx(0.01 * 0.25 * 0.4)  # one step for the batch, its mean 0.5


def test_for_evaluation_it_does_not_learn(episode: Maker):
    reward = make("lagrangian", learning=False)
    reward.group([episode(True)])
    assert reward.multipliers == {"format": 0.5}


def test_normalised_rewards_have_mean_nothing(episode: Maker):
    verdicts = make("lagrangian", normalise=True).group([episode(True), episode(False)])
    assert [verdict.reward for verdict in verdicts] == pytest.approx([0.5, -0.5])


def test_a_resumed_run_goes_on(episode: Maker):
    reward, resumed = make("lagrangian"), make("lagrangian")
    reward.group([episode(True)])
    resumed.load_state_dict(json.loads(json.dumps(reward.state_dict())))
    assert resumed.group([episode(True)])[0].reward == reward.group([episode(True)])[0].reward
    assert resumed.xi == reward.xi


@pytest.mark.parametrize(
    "wrong", [{"thresholds": {"form": 0.5}}, {"constraints": {}}, {"mode": "nu"}, {"momentum": 1.0}, {"lr": 0}]
)
def test_wrong_arguments_are_refused(wrong: dict[str, Any]):
    with pytest.raises(InputError):
        make("lagrangian", **wrong)
