"""Rewards that are designed for levels: what a student gets, what it does to the optimal policies, what is saved."""

from __future__ import annotations

import json
from collections.abc import Iterator

import gymnasium as gym
import numpy as np
import palaestra  # noqa: F401 registers the environments
import pytest
from palaestra.agents.students.bonuses import make_bonuses
from palaestra.agents.students.bonuses.designed import DesignedBonus
from palaestra.errors import InputError
from palaestra.rewards import RewardWrapper
from palaestra.rewards.audit.mdp import optimal_policy
from palaestra.rewards.tabular import DESIGNERS

DISCOUNT = 0.9
SMALL = {"exprd": ", budget=1, horizons=[1, 4], screen=1", "barfi": ", steps=2, inner_steps=5, terms=3"}


def wrapped(name: str, more: str = "") -> tuple[DesignedBonus, RewardWrapper]:
    (bonus,) = make_bonuses([f"designed(designer='{name}'{SMALL.get(name, '')}{more})"], DISCOUNT)
    env = gym.make("palaestra/BlockMaze-v0", disable_env_checker=True, size=5, blocks=2)
    assert isinstance(bonus.reward, DesignedBonus)
    bonus.reward.attach([env.unwrapped])
    return bonus.reward, RewardWrapper(env, bonus.reward, by_step=True)


def walk(env: RewardWrapper, seed: int, steps: int, rng: np.random.Generator) -> Iterator[float]:
    env.reset(seed=seed)
    for _ in range(steps):
        _, _, over, truncated, info = env.step(int(rng.integers(3)))
        yield info["reward_terms"]["designed"]
        if over or truncated:
            env.reset(seed=seed)


@pytest.mark.parametrize("name", list(DESIGNERS))
def test_a_student_sees_the_designed_reward_of_its_level_and_the_effect_is_as_stated(name):
    bonus, env = wrapped(name)
    env.reset(seed=2)
    (level,) = bonus.levels.values()
    first = bonus.memory[0]["state"]
    _, _, _, _, info = env.step(2)
    while name != "explors" and bonus.memory[0]["state"] != len(level.index):
        state, action = bonus.memory[0]["state"], env.unwrapped.oracle()
        _, reward, over, _, last = env.step(action)
        # The environment pays less than 1 for the goal, by the number of steps; the student sees what was designed.
        assert reward == pytest.approx(level.table[state, action])
        assert last["reward_terms"]["success"] == pytest.approx(reward - last["reward_terms"]["designed"])
        assert over == (bonus.memory[0]["state"] == len(level.index))
    explored = 0.0 if name != "explors" else 0.01
    assert info["reward_terms"]["designed"] == pytest.approx(
        level.table[first, 2] - level.problem.primary[first, 2] + explored
    )
    new, old = optimal_policy(level.problem.mdp, level.table), level.problem.optimal
    if "leaves" in DESIGNERS[name].effect:
        assert (new <= old).all()


@pytest.mark.parametrize("name", list(DESIGNERS))
def test_a_saved_design_goes_on_exactly(name):
    one, first = wrapped(name, ", every=2")
    list(walk(first, 2, 40, np.random.default_rng(0)))
    one.advance(1, 10)
    under_way = [2, 0, 1, 2]
    first.reset(seed=4)
    for action in under_way:
        first.step(action)
    saved = json.loads(json.dumps(one.state_dict()))
    # As `Practice` does: load, play the episode under way again, and load again.
    two, second = wrapped(name, ", every=2")
    two.load_state_dict(saved)
    second.reset(seed=4)
    for action in under_way:
        second.step(action)
    two.load_state_dict(saved)
    assert json.loads(json.dumps(two.state_dict())) == saved
    for bonus in (one, two):
        bonus.advance(2, 10)
    values = [list(walk(env, 2, 40, np.random.default_rng(5))) for env in (first, second)]
    assert values[0] == values[1]
    assert one.state_dict()["shared"] == two.state_dict()["shared"]


def test_a_reward_that_follows_the_learner_changes_with_it_and_others_do_not():
    for name in DESIGNERS:
        bonus, env = wrapped(name)
        list(walk(env, 2, 60, np.random.default_rng(0)))
        (level,) = bonus.levels.values()
        before = level.table.copy()
        bonus.advance(1, 10)
        list(walk(env, 2, 60, np.random.default_rng(1)))
        # A level without a reward for exploration learns from episodes that came to the goal alone.
        assert (level.table == before).all() == (not DESIGNERS[name].adaptive) or name == "explors"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("designed(designer='expdr')", "unknown reward designer 'expdr'; did you mean 'exprd'"),
        ("designed(budgte=3)", "budgte"),
        ("designed(weight=2)", "weight must"),
        ("designed(auxiliary='luck')", "unknown auxiliary: 'luck'"),
        ("designed(every=0)", "every must be"),
    ],
)
def test_bad_arguments_are_refused(text, words):
    with pytest.raises(InputError, match=words):
        make_bonuses([text], DISCOUNT)


def test_a_discount_of_1_and_other_environments_are_refused():
    with pytest.raises(InputError, match="discount below 1"):
        make_bonuses(["designed"], 1.0)
    (bonus,) = make_bonuses(["designed"], DISCOUNT)
    with pytest.raises(InputError, match="for gridworlds only"):
        bonus.reward.attach([gym.make("CartPole-v1")])  # type: ignore[attr-defined]
