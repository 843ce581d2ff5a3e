from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make
from palaestra.rewards.terms.length_relative import length_aware_groups

Maker = Callable[..., Episode]


def test_a_right_answer_is_placed_between_plus_and_minus_a_half(episode: Maker):
    group = [episode(tokens=100), episode(tokens=200), episode(tokens=300)]
    assert [verdict.reward for verdict in make("relative-length").group(group)] == [0.5, 0.0, -0.5]


def test_a_wrong_answer_gains_nothing_by_being_short(episode: Maker):
    group = [episode(False, tokens=100), episode(tokens=200), episode(False, tokens=300)]
    assert [verdict.reward for verdict in make("relative-length").group(group)] == [0.0, 0.0, -0.5]


def test_equal_lengths_get_0(episode: Maker):
    assert [verdict.reward for verdict in make("relative-length").group([episode(), episode()])] == [0.0, 0.0]


FORM = "<observe>o</observe><think>t</think><answer>a</answer>"


def test_exactly_one_response_gets_the_bonus_the_first_on_ties(episode: Maker):
    group = [episode(False, tokens=101), episode(tokens=150), episode(tokens=120), episode(tokens=120)]
    verdicts = make("shortest-correct").group(group)
    assert [verdict.reward for verdict in verdicts] == [0.0, 1.0, 1.2, 1.0]


def test_a_shortest_answer_of_90_tokens_gets_none_and_neither_does_one_of_100(episode: Maker):
    for shortest, bonus in ((90, 0.0), (100, 0.0), (101, 0.2)):
        verdicts = make("shortest-correct").group([episode(tokens=shortest), episode(tokens=150)])
        assert [verdict.reward for verdict in verdicts] == [1.0 + bonus, 1.0]


def test_the_format_alone_gets_a_half(episode: Maker):
    verdicts = make("shortest-correct").group([episode(text=FORM), episode(False, text=FORM)])
    assert [verdict.reward for verdict in verdicts] == [1.5, 0.5]


def test_a_format_reward_above_that_of_success_is_refused():
    with pytest.raises(InputError, match="outranks"):
        make("shortest-correct", format=1.5)


def test_shorter_than_the_groups_before_is_concise(episode: Maker):
    reward = make("below-average-length")
    assert make("below-average-length")(episode(tokens=0)).reward == 0.0  # nobody was there before
    assert [verdict.reward for verdict in reward.group([episode(tokens=10), episode(tokens=20)])] == [0.0, 0.0]
    # the average is now 15, for all of the next group alike
    assert [verdict.reward for verdict in reward.group([episode(tokens=n) for n in (14, 15, 99)])] == [1.0, 0.0, 0.0]
    # (30 + 128) / 5 = 31.6
    assert [verdict.reward for verdict in reward.group([episode(tokens=31), episode(tokens=32)])] == [1.0, 0.0]


def test_a_resumed_run_keeps_its_average(episode: Maker):
    reward, resumed = make("below-average-length"), make("below-average-length")
    reward.group([episode(tokens=10)])
    resumed.load_state_dict(json.loads(json.dumps(reward.state_dict())))
    assert resumed.group([episode(tokens=9)])[0].reward == 1.0
    with pytest.raises(InputError, match="saved state"):
        resumed.load_state_dict({"front": []})


def group(make_one: Maker, *right: int, wrong: int = 0) -> list[Episode]:
    return [make_one(True, tokens=n) for n in right] + [make_one(False, tokens=5)] * wrong


def test_ten_groups_have_exactly_two_length_aware_ones():
    assert len(length_aware_groups([0.5] * 10, 0.2)) == 2
    assert len(length_aware_groups([0.5] * 3, 0.2)) == 1
    assert len(length_aware_groups([0.5] * 11, 0.2)) == 3


def test_lengths_100_200_300_have_the_published_values(episode: Maker):
    verdicts = make("grpo-lambda", alpha=0.2).group(group(episode, 100, 200, 300))
    assert [verdict.reward for verdict in verdicts] == pytest.approx([0.9546, 0.9, 0.8454], abs=1e-4)


def test_an_all_wrong_group_is_never_chosen_before_a_solved_one(episode: Maker):
    batch = [group(episode, wrong=3), group(episode, 10, 30)] + [group(episode, wrong=3)] * 8
    values = [[verdict.reward for verdict in verdicts] for verdicts in make("grpo-lambda").batch(batch)]
    assert values[1][0] > values[1][1] > 0.8
    assert all(value == 0.0 for row in (values[0], *values[2:]) for value in row)


def test_other_groups_get_zero_or_one(episode: Maker):
    batch = [group(episode, 10, 30), group(episode, 10, 30, wrong=1)]
    values = [[verdict.reward for verdict in verdicts] for verdicts in make("grpo-lambda").batch(batch)]
    assert values[1] == [1.0, 1.0, 0.0]


def test_equal_lengths_all_lose_half_of_alpha(episode: Maker):
    verdicts = make("grpo-lambda", alpha=0.2).group(group(episode, 7, 7, 7))
    assert [verdict.reward for verdict in verdicts] == [0.9, 0.9, 0.9]


def test_wrong_answers_get_nothing_whatever_their_length(episode: Maker):
    verdicts = make("grpo-lambda").group(group(episode, 100, wrong=2))
    assert [verdict.reward for verdict in verdicts] == [0.9, 0.0, 0.0]


@pytest.mark.parametrize("wrong", [{"alpha": 1.5}, {"fraction": -0.1}, {"alpha": "x"}])
def test_wrong_arguments_are_refused(wrong: dict[str, Any]):
    with pytest.raises(InputError):
        make("grpo-lambda", **wrong)
