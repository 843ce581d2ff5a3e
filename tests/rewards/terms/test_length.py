from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make
from palaestra.rewards.terms.length import triangular

Maker = Callable[..., Episode]


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
def test_wrong_arguments_are_refused(wrong: dict[str, Any]):
    with pytest.raises(InputError):
        make("train-long-think-short", **wrong)
