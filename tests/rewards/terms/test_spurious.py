from __future__ import annotations

import itertools
import json
from collections.abc import Callable

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make
from palaestra.rewards.terms.spurious import advantage_bound, mislabelled_mean, mislabelled_variance

Maker = Callable[..., Episode]


@pytest.mark.parametrize(("correct", "mean", "variance"), [(3, 0.75, 0.1875), (2, 1.0, 0.25), (1, 0.75, 0.1875)])
def test_the_mislabel_model_agrees_with_all_sixteen_labelings_of_four(correct: int, mean: float, variance: float):
    group = 4
    ideal = correct * (1 - correct / group)
    losses = [
        ideal - sum(label - np.mean(labels) for label in labels[:correct])
        for labels in itertools.product((0.0, 1.0), repeat=group)
    ]
    assert np.mean(losses) == pytest.approx(mean) == mislabelled_mean(correct, group)
    assert np.var(losses) == pytest.approx(variance) == mislabelled_variance(correct, group)


def test_one_success_of_sixteen_has_the_largest_advantage():
    rewards = np.array([1.0] + [0.0] * 15)
    advantage = (rewards[0] - rewards.mean()) / rewards.std(ddof=1)
    assert advantage == pytest.approx(3.75) == advantage_bound(16)


def test_every_labeling_has_its_negative_so_advantages_average_to_nothing():
    total = np.zeros(4)
    for labels in itertools.product((0.0, 1.0), repeat=4):
        spread = np.std(labels, ddof=1)
        total += (np.array(labels) - np.mean(labels)) / spread if spread else 0.0
    assert total.tolist() == pytest.approx([0.0] * 4)


def test_the_toss_is_fair_and_blind_to_the_episode(episode: Maker):
    reward, other = make("spurious", seed=1), make("spurious", seed=1)
    right = [verdict.reward for verdict in reward.group([episode(True)] * 2000)]
    wrong = [verdict.reward for verdict in other.group([episode(False)] * 2000)]
    assert right == wrong
    assert 900 < sum(right) < 1100


def test_a_resumed_run_tosses_on(episode: Maker):
    reward, resumed = make("spurious"), make("spurious")
    first = [verdict.reward for verdict in reward.group([episode()] * 30)]
    resumed.load_state_dict(json.loads(json.dumps(reward.state_dict())))
    again = [verdict.reward for verdict in resumed.group([episode()] * 30)]
    assert again == [verdict.reward for verdict in reward.group([episode()] * 30)] != first


def test_a_probability_above_one_is_refused():
    with pytest.raises(InputError, match="p must be"):
        make("spurious", p=2)
