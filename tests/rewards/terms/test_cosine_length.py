from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make

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
