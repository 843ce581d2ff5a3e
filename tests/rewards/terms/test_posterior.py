from __future__ import annotations

from collections.abc import Callable

import pytest
from palaestra.rewards import Episode, make
from palaestra.rewards.terms.posterior import posterior_reward

Maker = Callable[..., Episode]

FORM = "<think>t</think><answer>4</answer>"


def test_process_counts_only_with_a_verified_outcome(episode: Maker):
    reward = make("posterior")
    assert reward(episode(False, text=FORM, process_score=1.0)).reward == 1.0
    assert reward(episode(False, text=FORM)).reward == 1.0  # not even asked for
    assert reward(episode(True, text=FORM, process_score=0.4)).reward == pytest.approx(2.4)
    assert {posterior_reward(True, False, process) for process in (0.0, 0.3, 1.0)} == {1.0}


def test_the_range_is_zero_and_one_to_three(episode: Maker):
    reward = make("posterior")
    assert reward(episode(False)).reward == 0.0
    assert reward(episode(True, process_score=0.0)).reward == 1.0
    assert reward(episode(True, text=FORM, process_score=7.0)).reward == 3.0


def test_all_right_siblings_still_differ(episode: Maker):
    verdicts = make("posterior").group([episode(process_score=0.2), episode(process_score=0.8)])
    assert verdicts[0].reward < verdicts[1].reward


def test_a_success_that_was_not_judged_is_invalid(episode: Maker):
    assert not make("posterior")(episode(True, process_score=None)).valid
