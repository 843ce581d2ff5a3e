from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make
from palaestra.rewards.terms.length_limits import triangular

Maker = Callable[..., Episode]


def test_right_answers_go_from_two_to_one_and_wrong_ones_from_minus_ten_to_zero(episode: Maker):
    reward = make("cosine-length", max_tokens=100)
    assert [reward(episode(True, tokens=n)).reward for n in (0, 50)] == pytest.approx([2.0, 1.5])
    assert [reward(episode(False, tokens=n)).reward for n in (0, 50)] == pytest.approx([-10.0, -5.0])
    # a quarter of the way: 1 + (1 + cos(pi / 4)) / 2
    assert reward(episode(True, tokens=25)).reward == pytest.approx(1.8535534)


def test_a_failure_at_the_limit_gets_the_penalty_and_a_success_keeps_its_value(episode: Maker):
    reward = make("cosine-length", max_tokens=100)
    assert reward(episode(False, tokens=99)).reward > -0.01
    assert reward(episode(False, tokens=100)).reward == -10.0
    assert [reward(episode(True, tokens=n)).reward for n in (100, 200)] == [1.0, 1.0]


def test_as_in_the_paper_the_penalty_can_go_to_successes_and_then_nothing_is_promised(episode: Maker):
    reward = make("cosine-length", max_tokens=100, exceed_successes=True)
    assert reward(episode(True, tokens=100)).reward == -10.0
    assert not reward.ranks_success


@pytest.mark.parametrize("wrong", [{"wrong": (0, 1.5)}, {"exceeded": 3}, {"correct": (2, 1, 0)}, {"max_tokens": 0}])
def test_constants_that_let_a_failure_win_are_refused(wrong: dict[str, Any]):
    with pytest.raises(InputError):
        make("cosine-length", **wrong)


def test_without_any_limit_it_says_so(episode: Maker):
    with pytest.raises(InputError, match="max_tokens"):
        make("cosine-length")(episode())


def test_max_mode_pays_delta_at_the_target_and_nothing_to_failures(episode: Maker):
    reward = make("target-length", target=1000, alpha=0.001)
    assert [reward(episode(tokens=n)).reward for n in (1000, 1200, 1500, 9000)] == pytest.approx([0.5, 0.3, 0.0, 0.0])
    assert reward(episode(tokens=400)).reward == 1.0  # 0.5 + 0.6, clipped
    assert reward(episode(False, tokens=400)).reward == 0.0


def test_exact_mode_charges_both_sides(episode: Maker):
    reward = make("target-length", mode="exact", target=1000, alpha=0.0005)
    assert [reward(episode(tokens=n)).reward for n in (800, 1000, 1200)] == pytest.approx([0.9, 1.0, 0.9])
    assert not reward.ranks_success


def test_the_target_may_come_with_the_episode(episode: Maker):
    reward = make("target-length")
    assert reward.needs == {"target_tokens"}
    assert reward(episode(tokens=50, target_tokens=50)).reward == 0.5


@pytest.mark.parametrize("wrong", [{"mode": "min"}, {"alpha": -1}, {"delta": 2}, {"target": 1.5}])
def test_wrong_arguments_of_target_length_are_refused(wrong: dict[str, Any]):
    with pytest.raises(InputError):
        make("target-length", **wrong)


def test_an_episode_whose_target_is_unknown_is_invalid(episode: Maker):
    assert not make("target-length")(episode(target_tokens=None)).valid


TAGS = "<think>t</think><answer>4</answer>"


def test_the_triangle_has_its_values_at_the_corners_and_halfway():
    assert [triangular(x, 200.0, 2.0) for x in (0, 100, 200, 300, 400, 900)] == [0, 1, 2, 1, 0, 0]


def test_the_budget_follows_training(episode: Maker):
    reward = make("triangular-length")
    of_the_first = episode(tokens=128)
    assert reward(of_the_first).reward == 0.5  # 128 of 256
    reward.advance(100, 1000)
    assert reward(of_the_first).reward == pytest.approx(128 / 179.2)


def test_a_resumed_run_has_the_budget_it_stopped_at(episode: Maker):
    reward, resumed = make("triangular-length"), make("triangular-length")
    reward.advance(250, 1000)
    resumed.load_state_dict(reward.state_dict())
    assert resumed(episode(tokens=64)).reward == reward(episode(tokens=64)).reward == pytest.approx(64 / 125.44)


def test_all_three_terms_add_up(episode: Maker):
    verdict = make("train-long-think-short", budget=100)(episode(text=TAGS, tokens=100))
    assert verdict.terms == {"correctness": 1.0, "length": 0.5, "tags": 0.25}
    assert verdict.score == 1.0
    half = make("train-long-think-short", budget=100)(episode(text="<answer>4</answer>", tokens=50))
    assert half.terms == {"correctness": 1.0, "length": 0.25, "tags": 0.125}


def test_the_best_failure_is_worth_no_more_than_the_worst_success(episode: Maker):
    reward = make("train-long-think-short", budget=100, length=0.75)
    assert reward(episode(False, text=TAGS, tokens=100)).reward <= reward(episode(True, tokens=0)).reward


def test_an_invalid_episode_stays_invalid(episode: Maker):
    assert not make("train-long-think-short")(episode(valid=False)).valid


@pytest.mark.parametrize(
    "wrong", [{"length": 0.8}, {"budget": 0}, {"budget": {"kind": "linear", "start": 10, "end": 0}}, {"tags": -1}]
)
def test_wrong_arguments_of_the_triangle_are_refused(wrong: dict[str, Any]):
    with pytest.raises(InputError):
        make("train-long-think-short", **wrong)


def test_nothing_is_charged_within_the_budget_and_never_more_than_the_weight(episode: Maker):
    reward = make("token-budget", budget=100, weight=0.5)
    assert [reward(episode(tokens=n)).reward for n in (0, 100, 150, 200, 999)] == [0, 0, -0.25, -0.5, -0.5]


def test_the_budget_can_be_a_schedule(episode: Maker):
    reward = make("token-budget", budget={"kind": "linear", "start": 200, "end": 100}, weight=1.0)
    assert reward(episode(tokens=150)).reward == 0.0
    reward.advance(10, 10)
    assert reward(episode(tokens=150)).reward == -0.5


@pytest.mark.parametrize("wrong", [{"budget": -1}, {"weight": -1}, {"budget": "x"}])
def test_wrong_arguments_of_the_token_budget_are_refused(wrong: dict[str, Any]):
    with pytest.raises(InputError):
        make("token-budget", **wrong)


def test_a_fifth_of_the_source_is_four_fifths_of_the_weight(episode: Maker):
    assert make("compression")(episode(memory_length=200, source_length=1000)).reward == pytest.approx(0.04)


def test_an_empty_memory_has_all_and_a_full_copy_nothing(episode: Maker):
    reward = make("compression")
    assert reward(episode(memory_length=0, source_length=1000)).reward == 0.05
    assert reward(episode(memory_length=1000, source_length=1000)).reward == 0.0
    assert reward(episode(memory_length=10**9, source_length=1000)).reward == -0.05


def test_without_a_source_there_is_nothing_to_compress(episode: Maker):
    assert make("compression")(episode(memory_length=10, source_length=0)).reward == 0.0


def test_an_unknown_length_makes_it_invalid(episode: Maker):
    assert not make("compression")(episode(memory_length=None, source_length=5)).valid
    assert not make("compression")(episode(memory_length=5, source_length=None)).valid


def test_a_negative_weight_is_refused():
    with pytest.raises(InputError, match="weight"):
        make("compression", weight=-1)
