from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make
from palaestra.rewards.terms.worked_actions import score_action, split_action

Maker = Callable[..., Episode]
WORKED = ['fill [2] "desk lamp"', "press [2] Enter", 'answer "12"']


def test_an_action_is_its_name_and_its_arguments():
    assert split_action('fill [2] "desk \\"lamp\\""') == ["fill", "2", '"desk \\"lamp\\""']
    assert split_action("<think>click [9]</think>\nI do this:\nClick(3)") == ["click", "3"]
    assert split_action("<think>endless") == []


def test_the_right_name_with_wrong_arguments_lies_between_another_name_and_the_right_action():
    worked = split_action(WORKED[0])
    scores = [
        score_action(split_action(text), worked) for text in ("click [2]", 'fill [3] "x"', 'fill [2] "x"', WORKED[0])
    ]
    assert scores == pytest.approx([0.2, 0.5, 0.75, 1.0])


def test_following_the_solution_earns_one_and_a_step_earns_once(episode: Maker):
    reward = make("action-match")
    assert reward(episode(text=WORKED, solution_steps=WORKED)).steps["action-match"] == pytest.approx([1 / 3] * 3)
    again = reward(episode(text=[WORKED[0], WORKED[0], "press [9] Enter", WORKED[1]], solution_steps=WORKED))
    # The first step again is the second one with another name: its form, 0.2; then name and one of two arguments.
    assert [3 * value for value in again.steps["action-match"]] == pytest.approx([1.0, 0.2, 0.55, 0.25])


def test_an_action_that_was_refused_earns_nothing(episode: Maker):
    played = episode(text=WORKED[:1], solution_steps=WORKED)
    refused = replace(played, steps=(replace(played.steps[0], action_error="There is no such control."),))
    assert make("action-match")(refused).reward == 0.0


def test_an_episode_without_a_worked_solution_is_not_judged(episode: Maker):
    assert not make("action-match")(episode(text="click [1]", solution_steps=None)).valid


def test_the_parts_are_one_together():
    with pytest.raises(InputError, match="must be 1 together"):
        make("action-match", form=0.5)


def test_the_solver_of_a_shop_earns_everything():
    import gymnasium as gym
    from palaestra.rewards import RewardWrapper

    env = RewardWrapper(gym.make("palaestra/Shop-v0", difficulty=0.0), make("action-match"))
    env.reset(seed=2)
    over, info = False, {}
    while not over:
        _, _, over, _, info = env.step(env.unwrapped.oracle())
    assert info["reward_terms"] == pytest.approx({"success": 1.0, "action-match": 1.0})
