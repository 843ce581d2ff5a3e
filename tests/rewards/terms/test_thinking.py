from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make
from palaestra.rewards.terms.thinking import posterior_reward, trusted_thinking

Maker = Callable[..., Episode]


WELL_FORMED = "<think>t</think><answer>4</answer>"


def test_process_counts_only_with_a_verified_outcome(episode: Maker):
    reward = make("posterior")
    assert reward(episode(False, text=WELL_FORMED, process_score=1.0)).reward == 1.0
    assert reward(episode(False, text=WELL_FORMED)).reward == 1.0  # not even asked for
    assert reward(episode(True, text=WELL_FORMED, process_score=0.4)).reward == pytest.approx(2.4)
    assert {posterior_reward(True, False, process) for process in (0.0, 0.3, 1.0)} == {1.0}


def test_the_range_is_zero_and_one_to_three(episode: Maker):
    reward = make("posterior")
    assert reward(episode(False)).reward == 0.0
    assert reward(episode(True, process_score=0.0)).reward == 1.0
    assert reward(episode(True, text=WELL_FORMED, process_score=7.0)).reward == 3.0


def test_all_right_siblings_still_differ(episode: Maker):
    verdicts = make("posterior").group([episode(process_score=0.2), episode(process_score=0.8)])
    assert verdicts[0].reward < verdicts[1].reward


def test_a_success_that_was_not_judged_is_invalid(episode: Maker):
    assert not make("posterior")(episode(True, process_score=None)).valid


def test_all_right_is_two(episode: Maker):
    assert make("consistency")(episode(True, text=WELL_FORMED, consistency=1)).reward == 2.0


def test_a_contradiction_costs_a_half_of_the_outcome(episode: Maker):
    assert make("consistency")(episode(True, text=WELL_FORMED, consistency=-1)).reward == 1.0


@pytest.mark.parametrize("score", [-1, 0, 1])
def test_consistency_of_a_wrong_answer_is_worth_nothing(episode: Maker, score: int):
    assert make("consistency")(episode(False, text=WELL_FORMED, consistency=score)).reward == 0.5


def test_scores_beyond_the_scale_cannot_break_the_bound(episode: Maker):
    assert make("consistency")(episode(True, consistency=-9)).reward == 0.5


def test_weights_with_which_a_failure_could_win_are_refused():
    with pytest.raises(InputError, match="outranks"):
        make("consistency", form=0.6)


def test_a_judge_that_prefers_wrong_answers_loses_weight():
    # mean 0.4 over the right one and 0.6 over the wrong one: 0.3 * exp(-0.2) = 0.2456
    values = trusted_thinking([1.0, 0.0], [0.4, 0.6], 0.3)
    assert values == pytest.approx([1 + 0.2456 * 0.4, 0.2456 * 0.6], abs=1e-4)
    assert math.exp(-0.2) == pytest.approx(0.8187, abs=1e-4)


def test_a_judge_that_prefers_right_answers_has_all_of_it():
    assert trusted_thinking([1.0, 0.0], [0.6, 0.4], 0.3) == pytest.approx([1.18, 0.12])


@pytest.mark.parametrize("answers", [[1.0, 0.9], [0.0, 0.1]])
def test_a_homogeneous_group_has_its_answers_alone(answers: list[float]):
    assert trusted_thinking(answers, [0.7, 0.2], 0.3) == answers


def test_as_released_bad_answers_have_no_thinking_reward():
    assert trusted_thinking([1.0, 0.0], [0.4, 0.6], 0.3, query_above=0.2) == pytest.approx([1.12, 0.0])


def test_an_answer_is_right_from_a_half_on_and_asked_about_from_the_threshold_on():
    # The one of 0.5 is right: 0.4 against 0.6 and 0.6 makes exp(-0.2).
    assert trusted_thinking([0.5, 0.2, 0.0], [0.4, 0.6, 0.6], 0.3)[0] == pytest.approx(0.5 + 0.2456 * 0.4, abs=1e-4)
    assert trusted_thinking([1.0, 0.2], [0.6, 0.4], 0.5, query_above=0.2) == pytest.approx([1.3, 0.4])


def test_as_released_the_reasoning_of_bad_answers_is_not_even_asked_for(episode: Maker):
    group = [episode(True, thinking_score=0.4), episode(False, thinking_score=None)]
    values = make("trusted-thinking", weight=0.3, query_above=0.2).group(group)
    assert [verdict.valid for verdict in values] == [True, True]
    assert [verdict.reward for verdict in values] == pytest.approx([1.12, 0.0])


def test_thinking_fades_with_training(episode: Maker):
    reward = make("trusted-thinking")
    group = [episode(True, thinking_score=1.0), episode(False, thinking_score=0.5)]
    assert [verdict.reward for verdict in reward.group(group)] == pytest.approx([1.3, 0.15])
    reward.advance(500, 1000)
    assert reward.group(group)[0].reward == pytest.approx(1 + 0.3 / math.e)
    reward.advance(1_000_000, 1_000_000)
    assert [verdict.reward for verdict in reward.group(group)] == [1.0, 0.0]


def test_only_the_episode_that_was_not_judged_is_invalid(episode: Maker):
    group = [episode(True, thinking_score=None), episode(True, thinking_score=0.5), episode(False, thinking_score=0.5)]
    verdicts = make("trusted-thinking").group(group)
    assert [verdict.valid for verdict in verdicts] == [False, True, True]
    assert verdicts[1].reward == 1.15


def test_a_weight_that_lets_thinking_outrank_success_is_refused():
    with pytest.raises(InputError, match="weight"):
        make("trusted-thinking", weight=1.5)


def test_partial_credit_takes_the_promise_away():
    assert not make("trusted-thinking", answer=lambda _: 0.5).ranks_success


ANSWERED_A_B = "<think>t</think><answer>a b</answer>"


def test_the_weight_is_a_half_at_first_and_nothing_at_the_end(episode: Maker):
    reward = make("annealed-process")
    judged = episode(text=ANSWERED_A_B, atom_scores=[1.0, 0.6], reference="b c")  # F1 0.5
    assert reward(judged).reward == pytest.approx(0.5 * 0.8 + 0.5 * 0.5)
    reward.advance(50, 100)
    assert reward(judged).reward == pytest.approx(0.25 * 0.8 + 0.75 * 0.5)
    reward.advance(100, 100)
    assert reward(judged).reward == 0.5


def test_a_wrong_format_overrides_everything(episode: Maker):
    assert make("annealed-process")(episode(text="a b", atom_scores=[1.0], reference="a b")).reward == -1.0


def test_a_thought_without_atoms_has_nothing_from_them(episode: Maker):
    assert make("annealed-process")(episode(text=ANSWERED_A_B, atom_scores=[], reference="a b")).reward == 0.5


def test_missing_scores_make_it_invalid(episode: Maker):
    assert not make("annealed-process")(episode(text=ANSWERED_A_B, atom_scores=[None], reference="a")).valid
    assert not make("annealed-process", outcome=lambda _: None)(episode(text=ANSWERED_A_B, atom_scores=[1])).valid


def test_it_needs_only_what_it_is_not_given(episode: Maker):
    reward = make("annealed-process", atoms=lambda _: [1.0], outcome=lambda _: 0.0)
    assert not reward.needs
    assert reward(episode(text=ANSWERED_A_B)).reward == 0.5


def test_a_weight_beyond_one_is_refused():
    with pytest.raises(InputError, match="weight"):
        make("annealed-process", weight=1.5)
