"""The noisy television: a tile whose colour is random after one action, in a corridor that is not."""

from __future__ import annotations

import json

import gymnasium as gym
import numpy as np
import pytest
from palaestra.agents.students.bonuses import make_bonuses
from palaestra.agents.students.bonuses.curiosity import HindsightCuriosity, PredictionCuriosity
from palaestra.errors import InputError
from palaestra.rewards import Step

SPACES = gym.spaces.MultiDiscrete([5, 8]), gym.spaces.Discrete(3)
SMALL = {"settle": 200, "rate": 5e-3, "size": 16, "batch": 16, "normalise": False}
WATCH = 2


def walk(bonus, steps: int, noise: bool = True) -> tuple[float, float]:
    """Mean bonus of watching and of moving over the last fifth of a random walk."""
    rng, seen, found = np.random.default_rng(0), np.array([0, 0]), []
    for _ in range(steps):
        action, after = int(rng.integers(3)), seen.copy()
        if action == WATCH:
            after[1] = rng.integers(8) if noise else (seen[1] + 1) % 8
        else:
            after[0] = min(max(seen[0] + (1, -1)[action], 0), 4)
        found.append((action == WATCH, bonus.step_reward_now(Step(seen, action, 0.0, {"env": 0.0}, 1), after, False)))
        seen = after
    late = found[-steps // 5 :]
    return tuple(float(np.mean([value for watched, value in late if watched == which])) for which in (True, False))


@pytest.fixture
def curious():
    def make(kind, **options):
        bonus = kind(1.0, **{**SMALL, **options})
        bonus.bind(*SPACES)
        return bonus

    return make


def test_the_television_catches_plain_prediction_error_and_not_hindsight(curious):
    watching, moving = walk(curious(PredictionCuriosity), 5000)
    assert watching > 10 * moving
    hindsight_watching, hindsight_moving = walk(curious(HindsightCuriosity), 5000)
    assert hindsight_watching < 3 * hindsight_moving
    assert hindsight_watching < 0.5 * watching


def test_what_is_certain_is_learned(curious):
    first = walk(curious(PredictionCuriosity), 400, noise=False)
    last = walk(curious(PredictionCuriosity), 2500, noise=False)
    assert max(last) < 0.2 * min(first)


def test_codes_follow_the_outcome_where_it_is_random(curious):
    bonus = curious(HindsightCuriosity)
    walk(bonus, 300)
    rows = bonus.torch.zeros(64, bonus.known + bonus.size)
    codes = bonus.encode(rows).detach()
    assert codes.shape == (64, 8)
    assert float(codes.abs().max()) < 1
    # A critic that gives every code the same value tells nothing.
    for parameter in bonus.critic.parameters():
        bonus.torch.nn.init.zeros_(parameter)
    contrast = bonus.contrast(rows[:, : bonus.known], codes, codes)
    assert float(contrast.detach().abs().max()) < 1e-6


@pytest.mark.parametrize("kind", [PredictionCuriosity, HindsightCuriosity])
def test_a_state_that_was_saved_goes_on_to_the_same_numbers(kind, curious):
    bonus = curious(kind)
    walk(bonus, 250)
    saved = json.loads(json.dumps(bonus.state_dict()))
    other = curious(kind)
    other.load_state_dict(saved)
    assert walk(other, 60) == walk(bonus, 60)
    assert other.state_dict() == bonus.state_dict()


def test_continuous_actions_are_refused():
    (bonus,) = make_bonuses(["prediction"], 0.9)
    with pytest.raises(InputError, match="Discrete actions"):
        bonus.reward.bind(SPACES[0], gym.spaces.Box(-1, 1, (2,)))
