from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make
from palaestra.rewards.terms.outcome_noise import expected_advantage

Maker = Callable[..., Episode]


def normalised(values: list[float]) -> np.ndarray:
    array = np.array(values)
    return (array - array.mean()) / array.std(ddof=1)


def rewards_of(make_one: Maker, **options: Any) -> list[float]:
    group = [make_one(success) for success in (True, False, False, True, False)]
    return [verdict.reward for verdict in make("outcome-noise", **options).group(group)]


def test_a_group_flip_negates_the_normalised_advantages_exactly(episode: Maker):
    plain, flipped = rewards_of(episode, flip_prob=0.0), rewards_of(episode, flip_prob=1.0)
    assert normalised(flipped).tolist() == pytest.approx((-normalised(plain)).tolist())


def test_expected_advantages_shrink_by_one_minus_twice_the_probability():
    values = [1.0, 0.0, 0.0, 1.0, 0.0]
    plain, flipped = normalised(values), normalised([1 - value for value in values])
    for f, factor in ((0.4, 0.2), (0.5, 0.0)):
        expected = (1 - f) * plain + f * flipped
        assert expected.tolist() == pytest.approx((factor * plain).tolist())
        assert expected_advantage(1.5, f) == pytest.approx(factor * 1.5)


def test_flips_of_single_samples_do_not_shrink_advantages_like_that():
    # Every pattern of flips of a group (1, 0, 0, 0) at f = 0.4; groups without spread have no advantage.
    values, f, expected = [1.0, 0.0, 0.0, 0.0], 0.4, np.zeros(4)
    for pattern in itertools.product((False, True), repeat=4):
        noisy = [1 - value if flip else value for value, flip in zip(values, pattern)]
        weight = np.prod([f if flip else 1 - f for flip in pattern])
        if len(set(noisy)) > 1:
            expected += weight * normalised(noisy)
    assert abs(expected[0] - 0.2 * normalised(values)[0]) > 0.01


def test_siblings_flip_together_or_one_by_one(episode: Maker):
    group = [episode(True)] * 20
    together, apart = make("outcome-noise", flip_prob=0.5), make("outcome-noise", flip_prob=0.5, unit="sample")
    assert all(len({verdict.reward for verdict in together.group(group)}) == 1 for _ in range(20))
    assert {verdict.reward for verdict in apart.group(group)} == {0.0, 1.0}


def test_about_the_asked_share_of_groups_flips(episode: Maker):
    reward = make("outcome-noise", flip_prob=0.4)
    flips = sum(reward.group([episode(True)])[0].reward == 0.0 for _ in range(1000))
    assert 340 < flips < 460  # four standard deviations


def test_a_resumed_run_tosses_on(episode: Maker):
    reward, resumed = make("outcome-noise", unit="sample", seed=3), make("outcome-noise", unit="sample", seed=3)
    group = [episode(True)] * 50
    first = [verdict.reward for verdict in reward.group(group)]
    resumed.load_state_dict(json.loads(json.dumps(reward.state_dict())))
    then = [verdict.reward for verdict in reward.group(group)]
    assert [verdict.reward for verdict in resumed.group(group)] == then != first


def test_success_stays_true_and_invalid_stays_invalid(episode: Maker):
    verdicts = make("outcome-noise", flip_prob=1.0).group([episode(True), episode(valid=False)])
    assert verdicts[0].success
    assert verdicts[0].reward == 0.0
    assert not verdicts[1].valid


def test_any_bounded_reward_is_reflected_between_its_bounds(episode: Maker):
    child = {"name": "overlong", "max_tokens": 20, "cache": 4}
    assert make("outcome-noise", child=child, flip_prob=1.0)(episode(tokens=17)).reward == -0.75


@pytest.mark.parametrize("wrong", [{"child": {"name": "outcome"}}, {"flip_prob": 1.2}, {"unit": "batch"}, {"seed": -1}])
def test_wrong_arguments_are_refused(wrong: dict[str, Any]):
    with pytest.raises(InputError):
        make("outcome-noise", **wrong)
