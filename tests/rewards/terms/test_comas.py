from __future__ import annotations

from collections.abc import Callable

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make
from palaestra.rewards.terms.comas import critique_reward, scorer_reward, solution_reward

Maker = Callable[..., Episode]


@pytest.mark.parametrize(("mark", "solution", "critique"), [(1, 0.0, 1.0), (2, 0.5, 0.5), (3, 1.0, 0.0)])
def test_solver_and_critic_share_one_point(mark: int, solution: float, critique: float):
    assert (solution_reward(mark), critique_reward(mark)) == (solution, critique)


def test_the_scorer_earns_the_same_whatever_the_mark(episode: Maker):
    assert {scorer_reward(mark) for mark in (1, 2, 3)} == {0.0}
    reward = make("comas", role="scorer")
    assert [reward(episode(mark=mark)).reward for mark in (2, 3, 7, None, "3")] == [0, 0, -1, -1, -1]


def test_a_mark_that_cannot_be_read_makes_the_others_invalid(episode: Maker):
    assert make("comas")(episode(mark=3)).reward == 1.0
    assert make("comas", role="critique")(episode(mark=3)).reward == 0.0
    assert not make("comas")(episode(mark=2.5)).valid


def test_an_unknown_role_is_refused():
    with pytest.raises(InputError, match="scorer"):
        make("comas", role="scorr")
