"""The bonus "oni": what a judge thinks of a sentence on the state."""

from __future__ import annotations

import json

import gymnasium as gym
import numpy as np
import palaestra  # noqa: F401 registers the environments
import pytest
from palaestra.agents.students.bonuses import make_bonuses
from palaestra.agents.students.bonuses.caption_bonus import CaptionBonus
from palaestra.errors import InputError
from palaestra.rewards import RewardWrapper
from palaestra.rewards.audit.mdp import TabularMDP, optimal_policy


def wrapped(options: str = "") -> tuple[CaptionBonus, RewardWrapper]:
    (bonus,) = make_bonuses([f"oni(judge='rules', principle='keywords: a yellow key'{options})"], 0.99)
    env = gym.make("palaestra/DoorKey-v0", disable_env_checker=True, size=5, obstacles=0)
    assert isinstance(bonus.reward, CaptionBonus)
    bonus.reward.attach([env.unwrapped])
    return bonus.reward, RewardWrapper(env, bonus.reward, by_step=True)


def solve(env: RewardWrapper, seed: int = 1) -> list[float]:
    """Bonuses of the solver's episode."""
    env.reset(seed=seed)
    found, over = [], False
    while not over:
        *_, over, _, info = env.step(env.unwrapped.oracle())
        found.append(info["reward_terms"]["oni"])
    return found


def test_what_the_judge_likes_pays_by_its_count_in_the_episode_once_it_is_labelled():
    bonus, env = wrapped(", weight=1.0")
    assert set(solve(env)) == {0.0}
    assert len(bonus.scores.queue) == len({*bonus.scores.queue})
    bonus.advance(1, 10)
    assert not bonus.scores.queue
    liked = [caption for caption, label in bonus.scores.labels.items() if label == 1.0]
    assert liked
    assert all("yellow key" in caption for caption in liked)
    paid = solve(env)
    assert paid[0] == 0.0
    assert paid.count(1.0) == len(liked)
    assert paid == solve(env)
    assert set(paid) <= {0.0, 1.0, 0.125, 1 / 27, 1 / 64}
    # The second time a caption occurs it pays an eighth.
    env.reset(seed=1)
    while "yellow key" not in str(env.unwrapped.here().carried) and not env.unwrapped.here().carried:
        *_, info = env.step(env.unwrapped.oracle())
    first = info["reward_terms"]["oni"]
    assert env.step(6)[4]["reward_terms"]["oni"] == pytest.approx(first / 8)


@pytest.mark.parametrize("mode", ["classification", "ranking"])
def test_the_modes_that_learn_act_and_go_on_exactly(mode):
    one, first = wrapped(f", mode='{mode}'")
    two, second = wrapped(f", mode='{mode}'")
    for step in range(4):
        solve(first, step)
        one.advance(step, 10)
    two.load_state_dict(json.loads(json.dumps(one.state_dict())))
    values = [solve(env, 9) for env in (first, second)]
    assert values[0] == values[1]
    assert any(values[0])
    for bonus in (one, two):
        bonus.advance(5, 10)
    assert one.state_dict() == two.state_dict()


def test_the_task_can_stand_before_each_caption():
    bonus, env = wrapped(", task=True")
    solve(env)
    assert all(caption.startswith("use the key to open the door") for caption in bonus.scores.queue)


def test_a_liked_caption_off_the_way_changes_the_optimal_policy_and_a_small_weight_does_not():
    # Three cells: from the middle the end, worth 1, lies right, and left a liked one, from which it is one step more.
    captions = ["a yellow key", "the middle", "the end"]
    chances = np.zeros((4, 2, 4))
    for cell, (left, right) in enumerate(((3, 3), (0, 2), (3, 3))):
        chances[cell, 0, left] = chances[cell, 1, right] = 1.0
    chances[3, :, 3] = 1.0
    mdp, primary = TabularMDP(chances, 0.9), np.zeros((4, 2))
    primary[1, 1] = primary[0] = 1.0
    plain = optimal_policy(mdp, primary)[1].tolist()
    assert plain == [False, True]
    for weight, same in ((0.04, True), (0.5, False)):
        bonus, _ = wrapped(f", weight={weight}")
        bonus.scores.add_labels(bonus.annotator(captions))
        paid = [bonus.weight * bonus.scores.value(caption) for caption in captions]
        shaped = primary + chances[:, :, :3] @ np.array(paid)
        assert (optimal_policy(mdp, shaped)[1].tolist() == plain) is same


def test_other_environments_and_arguments_are_refused():
    (bonus,) = make_bonuses(["oni"], 0.9)
    assert "can change the optimal policies" in bonus.optimum
    with pytest.raises(InputError, match="states of gridworlds only"):
        bonus.reward.attach([gym.make("CartPole-v1")])  # type: ignore[attr-defined]
    for text, words in (
        ("oni(mode='rank')", "mode"),
        ("oni(weight=-1)", "weight must be"),
        ("oni(judge='jury')", "jury"),
    ):
        with pytest.raises(InputError, match=words):
            make_bonuses([text], 0.9)
