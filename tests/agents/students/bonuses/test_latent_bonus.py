"""The bonus "lare": the reward moved to the steps that earn it."""

from __future__ import annotations

import json
from pathlib import Path

import gymnasium as gym
import numpy as np
import palaestra  # noqa: F401 registers the environments
import pytest
from palaestra.agents.students.bonuses import make_bonuses
from palaestra.agents.students.bonuses.latent_bonus import LatentBonus
from palaestra.errors import InputError
from palaestra.rewards import RewardWrapper
from palaestra.rewards.design import FACTOR_RUNNERS

PROGRAM = Path(__file__).parents[3] / "factor_program.py"


def wrapped(options: str) -> tuple[LatentBonus, RewardWrapper]:
    (bonus,) = make_bonuses([f"lare({options})"], 0.99)
    env = gym.make("palaestra/DoorKey-v0", disable_env_checker=True, size=5, obstacles=0)
    assert isinstance(bonus.reward, LatentBonus)
    bonus.reward.attach([env.unwrapped])
    return bonus.reward, RewardWrapper(env, bonus.reward, by_step=True)


def solve(env: RewardWrapper, seed: int) -> list[float]:
    """Rewards of the solver's episode, bonus included."""
    env.reset(seed=seed)
    found, over = [], False
    while not over:
        _, reward, over, _, info = env.step(env.unwrapped.oracle())
        assert info["reward_valid"]
        found.append(reward)
    return found


def test_the_key_and_the_door_are_rewarded_and_the_sum_of_an_episode_is_its_own():
    bonus, env = wrapped(f"factors={str(PROGRAM)!r}, hidden=0, settle=7")
    plain = gym.make("palaestra/DoorKey-v0", disable_env_checker=True, size=5, obstacles=0)
    for seed in range(7):
        before = solve(env, seed)
    assert not bonus.latent.ready
    assert before[:-1] == [0.0] * (len(before) - 1)
    after = solve(env, 7)
    assert bonus.latent.ready
    assert sum(value > 0.1 for value in after) >= 3
    plain.reset(seed=7)
    own, over = 0.0, False
    while not over:
        _, reward, over, _, _ = plain.step(plain.unwrapped.oracle())
        own += float(reward)
    assert sum(after) == pytest.approx(own)


def test_without_exact_the_sum_is_what_the_function_says():
    # Without a factor of every step, the sums cannot follow the lengths of the episodes.
    bonus, env = wrapped("hidden=0, settle=2, exact=False")
    for seed in (1, 2, 3):
        after = solve(env, seed)
    rows = [np.array(row) for row in bonus.memory[0]["rows"]]
    assert sum(after) == pytest.approx(bonus.latent.predict(rows).sum())
    assert abs(sum(after) - (1 - 0.9 * len(after) / 250)) > 1e-4
    _, env = wrapped("hidden=0, settle=2")
    for seed in (1, 2, 3):
        after = solve(env, seed)
    assert sum(after) == pytest.approx(1 - 0.9 * len(after) / 250)


def test_a_weight_of_a_half_is_half_way():
    half, first = wrapped("hidden=0, settle=1, weight=0.5")
    whole, second = wrapped("hidden=0, settle=1")
    for seed in (1, 2):
        ours, theirs = solve(first, seed), solve(second, seed)
    plain = [0.0] * (len(ours) - 1) + [1 - 0.9 * len(ours) / 250]
    assert ours == pytest.approx([(one + two) / 2 for one, two in zip(plain, theirs, strict=True)])
    assert half.latent.seen == whole.latent.seen == 1


def test_it_goes_on_exactly_in_the_middle_of_an_episode():
    one, first = wrapped("hidden=8, settle=2")
    for seed in range(3):
        solve(first, seed)
    two, second = wrapped("hidden=8, settle=2")
    two.load_state_dict(json.loads(json.dumps(one.state_dict())))
    assert solve(first, 5) == solve(second, 5)
    assert json.loads(json.dumps(one.state_dict())) == json.loads(json.dumps(two.state_dict()))


def test_a_failed_sandbox_makes_the_step_invalid(monkeypatch):
    _, env = wrapped(f"factors={str(PROGRAM)!r}")
    monkeypatch.setitem(FACTOR_RUNNERS._entries, "sandbox", lambda text, steps: None)
    env.reset(seed=0)
    assert not env.step(0)[4]["reward_valid"]


def test_all_actions_of_an_observation_are_one_call(monkeypatch):
    asked = []
    run = FACTOR_RUNNERS["sandbox"]

    def count(text, steps):
        asked.append(len(steps))
        return run(text, steps)

    monkeypatch.setitem(FACTOR_RUNNERS._entries, "sandbox", count)
    _, env = wrapped(f"factors={str(PROGRAM)!r}")
    env.reset(seed=0)
    env.step(6)  # done, which changes nothing
    env.step(5)
    assert asked == [7]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("lare(factors='none.py')", "cannot be read"),
        ("lare(weight=2)", "weight must"),
        ("lare(hidden=-1)", "hidden must be"),
        ("lare(wieght=1)", "wieght"),
    ],
)
def test_bad_arguments_are_refused(text, words):
    with pytest.raises(InputError, match=words):
        make_bonuses([text], 0.9)
