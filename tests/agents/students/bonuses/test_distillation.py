"""What distillation makes of states that are visited more and less often."""

from __future__ import annotations

import json

import gymnasium as gym
import numpy as np
import pytest
import torch
from palaestra.agents.students.bonuses import make_bonuses
from palaestra.agents.students.bonuses.distillation import DistributionDistillation, NetworkDistillation
from palaestra.errors import InputError
from palaestra.rewards import Step

STATES = gym.spaces.Discrete(8)
SMALL = {"settle": 64, "size": 16, "batch": 16, "normalise": False}


def take(bonus, state: int) -> float:
    return bonus.step_reward_now(Step(0, 0, 0.0, {"env": 0.0}, 1), state, False)


def settled(kind, **options):
    bonus = kind(1.0, **{**SMALL, **options})
    bonus.bind(STATES, gym.spaces.Discrete(2))
    assert {take(bonus, i % 8) for i in range(64)} == {0.0}
    return bonus


def visit(bonus, steps: int) -> np.ndarray:
    """Visit states, each half as often as the one before; the errors of all in the end."""
    rng, odds = np.random.default_rng(0), 0.5 ** np.arange(8)
    for state in rng.choice(8, size=steps, p=odds / odds.sum()).tolist():
        take(bonus, state)
    rows = torch.from_numpy(np.stack([bonus.features(state) for state in range(8)]))
    with torch.no_grad():
        return bonus.error(rows).numpy()


def test_a_rare_state_gets_more_than_a_frequent_one():
    for kind in (NetworkDistillation, DistributionDistillation):
        errors = visit(settled(kind), 1500)
        assert errors[4:].min() > 5 * errors[:2].max(), kind


def test_the_bonus_of_distributions_decays_like_a_count_and_that_of_networks_vanishes():
    network, distribution = (visit(settled(kind), 6000) for kind in (NetworkDistillation, DistributionDistillation))
    visits = 6000 * 0.5 ** np.arange(8)
    # From 47 to 6,000 visits the error of a table that averages falls as 1 / visits.
    slope = np.polyfit(np.log(visits), np.log(distribution), 1)[0]
    assert -1.2 < slope < -0.4
    assert distribution[:4].min() > 1e-3
    assert network[:4].max() < 1e-5


def test_without_deviation_the_distribution_is_a_network():
    same = settled(DistributionDistillation, deviation=0.0)
    np.testing.assert_array_equal(visit(same, 200), visit(settled(NetworkDistillation), 200))


def test_a_state_that_was_saved_goes_on_to_the_same_numbers():
    bonus = settled(DistributionDistillation, normalise=True)
    visit(bonus, 70)  # no multiple of a batch
    saved = json.loads(json.dumps(bonus.state_dict()))
    other = DistributionDistillation(1.0, **{**SMALL, "normalise": True})
    other.bind(STATES, gym.spaces.Discrete(2))
    other.load_state_dict(saved)
    path = [state % 8 for state in range(100)]
    assert [take(other, state) for state in path] == [take(bonus, state) for state in path]
    assert other.state_dict() == bonus.state_dict()


def test_the_optimum_is_back_once_the_network_has_learned():
    """Stay for the bonus, or walk two steps to a goal of 1, after which the episode is over."""
    (bonus,) = make_bonuses(["rnd(weight=0.5, rate=0.003, settle=64, batch=8, normalise=False)"], 0.9)
    reward = bonus.reward
    reward.bind(gym.spaces.Discrete(4), gym.spaces.Discrete(2))
    for i in range(64):
        take(reward, i % 4)

    def optimum() -> str:
        rows = torch.from_numpy(np.stack([reward.features(state) for state in range(3)]))
        with torch.no_grad():
            first, second, goal = (0.5 * reward.error(rows)).tolist()
        values = np.zeros(2)
        for _ in range(200):  # value iteration; states 0 and 1, actions stay and walk
            options = np.array(
                [[first + 0.9 * values[0], second + 0.9 * values[1]], [second + 0.9 * values[1], 1 + goal]]
            )
            values = options.max(1)
        return "arrive" if (options.argmax(1) == 1).all() else "stay"

    assert optimum() == "stay"
    for i in range(1500):
        take(reward, i % 3)
    assert optimum() == "arrive"
    assert bonus.optimum == "changes the optimal policies until its network has learned what is visited"


@pytest.mark.parametrize(
    ("text", "words"),
    [("rnd(batch=1)", "batch"), ("rnd(weight=-1)", "weight"), ("rdd(deviation=-1)", "deviation"), ("rnd(x=1)", "'x'")],
)
def test_bad_options_are_refused(text, words):
    with pytest.raises(InputError, match=words):
        make_bonuses([text], 0.9)


def test_spaces_come_first_and_a_foreign_state_is_refused():
    (bonus,) = make_bonuses(["rnd"], 0.9)
    with pytest.raises(InputError, match="call bind"):
        take(bonus.reward, 0)
    with pytest.raises(InputError, match=r"not \['visits'\]"):
        bonus.reward.load_state_dict({"visits": {}})
