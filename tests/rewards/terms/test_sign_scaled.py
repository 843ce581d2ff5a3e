from __future__ import annotations

from collections.abc import Callable

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make

Maker = Callable[..., Episode]


@pytest.mark.parametrize("dense", [-float("inf"), -1e300, -1e-9, 0.0, 1e-9, 5.0, float("inf")])
@pytest.mark.parametrize("success", [True, False])
def test_no_dense_value_moves_the_reward_by_more_than_a_tenth(episode: Maker, dense: float, success: bool):
    value = make("sign-scaled")(episode(success, dense_reward=dense)).reward
    assert value == success + 0.1 * ((dense > 0) - (dense < 0))


def test_failure_can_be_minus_one(episode: Maker):
    assert make("sign-scaled", failure=-1)(episode(False, dense_reward=3)).reward == -0.9


def test_a_program_without_an_answer_makes_it_invalid(episode: Maker):
    assert not make("sign-scaled", scorer=lambda _: float("nan"))(episode()).valid


def test_a_dense_part_that_could_outweigh_success_is_refused():
    with pytest.raises(InputError, match="scale"):
        make("sign-scaled", scale=0.6)
