from __future__ import annotations

from collections.abc import Callable

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make

Maker = Callable[..., Episode]

FORM = "<think>t</think><answer>4</answer>"


def test_all_right_is_two(episode: Maker):
    assert make("consistency")(episode(True, text=FORM, consistency=1)).reward == 2.0


def test_a_contradiction_costs_a_half_of_the_outcome(episode: Maker):
    assert make("consistency")(episode(True, text=FORM, consistency=-1)).reward == 1.0


@pytest.mark.parametrize("score", [-1, 0, 1])
def test_consistency_of_a_wrong_answer_is_worth_nothing(episode: Maker, score: int):
    assert make("consistency")(episode(False, text=FORM, consistency=score)).reward == 0.5


def test_scores_beyond_the_scale_cannot_break_the_bound(episode: Maker):
    assert make("consistency")(episode(True, consistency=-9)).reward == 0.5


def test_weights_with_which_a_failure_could_win_are_refused():
    with pytest.raises(InputError, match="outranks"):
        make("consistency", form=0.6)
