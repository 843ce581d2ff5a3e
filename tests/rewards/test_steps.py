from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palaestra.errors import InputError
from palaestra.rewards import steps

untimed = settings(deadline=None)

SCORES = st.lists(st.floats(-1, 1), min_size=1, max_size=12)


def close(expected: list[float], tolerance: float = 1e-9) -> object:
    return pytest.approx(np.array(expected), abs=tolerance)


# Clip and Delta.


def test_delta_gives_differences_and_the_last_score():
    assert steps.delta_steps([0.9, 0.8, 0.95]) == close([0.1, -0.15, 0.95])


@untimed
@given(SCORES)
def test_return_under_delta_is_the_score_itself(scores: list[float]):
    assert steps.suffix_sums(steps.delta_steps(scores)) == close(scores)


@untimed
@given(SCORES, st.integers(0, 11), st.integers(1, 5))
def test_copies_of_a_step_add_nothing_to_earlier_returns_under_delta(scores: list[float], place: int, copies: int):
    place %= len(scores)
    padded = scores[:place] + [scores[place]] * copies + scores[place:]
    before, after = (steps.suffix_sums(steps.delta_steps(s))[: place + 1] for s in (scores, padded))
    assert after == close(before.tolist())
    raw = steps.suffix_sums(padded)[0] - steps.suffix_sums(scores)[0]
    assert raw == pytest.approx(copies * scores[place], abs=1e-9)


def test_clip_leaves_only_what_is_below_the_threshold():
    assert steps.clip_steps([0.9, 0.3, 0.5], 0.5) == close([0.0, -0.2, 0.0])


def test_suffix_sums_are_discounted():
    assert steps.suffix_sums([1, 2, 4], 0.5) == close([3.0, 4.0, 4.0])


# Min form.


def test_min_form_of_three_steps():
    shaped = steps.min_form_steps([0.5, -0.2, 0.8], 0.1)
    assert shaped == close([0.0005, -0.1998, 0.00004], 5e-5)
    assert steps.suffix_sums(shaped) == close([-0.1993, -0.1998, 0.00004], 5e-5)


@untimed
@given(SCORES)
def test_min_form_sums_to_the_minimum_as_the_temperature_falls(scores: list[float]):
    assert steps.min_form_steps(scores, 0.0).sum() == pytest.approx(min(scores), abs=1e-12)
    assert steps.min_form_steps(scores, 1e-9).sum() == pytest.approx(min(scores), abs=1e-6)


def test_a_very_good_step_hardly_changes_the_min_form():
    assert abs(steps.min_form_steps([0.5, -0.2, 0.8, 1.0]).sum() - steps.min_form_steps([0.5, -0.2, 0.8]).sum()) < 1e-3


def test_min_form_keeps_huge_rewards_finite():
    assert steps.min_form_steps([1e6, -1e6]) == close([0.0, -1e6])


def test_a_negative_temperature_is_refused():
    with pytest.raises(InputError, match="temperature"):
        steps.min_form_steps([1.0], -1.0)


# ReNorm.


@pytest.mark.parametrize(("process", "outcome", "reward"), [(1, 1, 1), (0, 0, -1), (1, 0, 0), (0, 1, 0), (0.5, 0.5, 0)])
def test_renorm_centres_process_and_outcome(process: float, outcome: float, reward: float):
    assert steps.renorm_steps([process], outcome) == close([reward])


def test_a_middling_extra_turn_adds_nothing_under_renorm_and_1_to_the_raw_sum():
    # Not a constant shift: the number of turns matters.
    turns, padded = [0.7, 0.2], [0.7, 0.2, 0.5]
    assert steps.renorm_steps(padded, 0.5).sum() == pytest.approx(steps.renorm_steps(turns, 0.5).sum())
    assert sum(p + 0.5 for p in padded) - sum(p + 0.5 for p in turns) == pytest.approx(1.0)


# Thoughts.


def advantages(labels: list[bool], correct: bool, outcome: float, scale: float) -> np.ndarray:
    return outcome + steps.suffix_sums(steps.thought_rewards(labels, correct, outcome, scale))


def test_wrong_thoughts_of_a_correct_solution_lose_the_scale():
    assert advantages([True, False, True], True, 1.0, 0.4) == close([1.0, 0.6, 1.0])
    assert steps.thought_rewards([True, False, True], True, 1.0, 0.4) == close([0.4, -0.4, 0.0])


def test_thoughts_that_do_not_lead_to_the_wrong_answer_are_spared():
    assert advantages([True, False, True], False, -0.8, 0.4) == close([-0.8, 0.0, -0.8])


def test_a_wrong_last_thought_is_still_penalised():
    assert advantages([True, False], True, 1.0, 0.4) == close([1.0, 0.6])


def test_a_group_that_never_succeeds_learns_from_outcomes_only():
    assert steps.ability_scale([False, False]) == 0.0
    assert advantages([False, True, False], True, 1.0, steps.ability_scale([False])) == close([1, 1, 1])


def test_ability_scale_is_the_share_of_successes():
    assert steps.ability_scale([True, True, False, False], 0.8) == pytest.approx(0.4)


def test_steps_of_equal_label_merge_into_one_thought():
    assert steps.merge_runs([True, True, False, True]) == [(0, 2, True), (2, 3, False), (3, 4, True)]
    # Splitting a thought in two changes no advantage.
    assert advantages([True, True, False, False, True], True, 1.0, 0.4) == close([1, 1, 0.6, 0.6, 1])


# Prefix values.


@untimed
@given(SCORES)
def test_gains_telescope(values: list[float]):
    assert steps.prefix_gains(values).sum() == pytest.approx(values[-1] - values[0], abs=1e-9)


def test_a_step_that_changes_nothing_gains_nothing():
    assert steps.prefix_gains([0.3, 0.3, 0.9]) == close([0.0, 0.6])


def test_a_turning_point_gets_the_whole_later_gain():
    values = [0.5, 0.3, 0.6, 0.9]
    assert steps.turning_points(values).tolist() == [False, True, False]
    assert steps.turning_point_gains(values) == close([-0.2, 0.6, 0.3])


def test_a_step_after_one_that_went_nowhere_turns_nothing():
    assert steps.turning_points([0.5, 0.5, 0.9]).tolist() == [False, False]


def test_turning_points_follow_the_final_direction():
    # The value falls in the end, so the step that turns back down is the turning point.
    values = [0.5, 0.7, 0.4, 0.1]
    assert steps.turning_points(values).tolist() == [False, True, False]
    assert steps.turning_point_gains(values) == close([0.2, -0.6, -0.3])


def test_the_first_step_can_get_the_whole_gain():
    assert steps.turning_point_gains([0.2, 0.4, 0.9]) == close([0.2, 0.5])
    assert steps.turning_point_gains([0.2, 0.4, 0.9], first=True) == close([0.7, 0.5])
    assert steps.turning_point_gains([0.2, 0.1, 0.9], first=True) == close([-0.1, 0.8])


def test_propagation_gives_idle_steps_a_share_of_the_next_gain():
    assert steps.propagated_gains([0, 0, 1], discount=0.9, ahead=1) == close([0.9, 1.0])
    assert steps.propagated_gains([1, 0], discount=0.9, ahead=1) == close([-1.0])
    assert steps.propagated_gains([0.4] * 5) == close([0.0] * 4)


@untimed
@given(SCORES)
def test_without_propagation_the_gains_telescope(values: list[float]):
    gains = steps.propagated_gains(values, threshold=0.2, ahead=0)
    assert gains.sum() == pytest.approx(values[-1] - values[0], abs=1e-9)


def test_propagation_looks_no_further_than_allowed():
    assert steps.propagated_gains([0, 0, 0, 1], ahead=1, discount=0.5) == close([0.0, 0.5, 1.0])
    assert steps.propagated_gains([0, 0, 0, 1], ahead=2, discount=0.5) == close([0.25, 0.5, 1.0])


def test_a_policy_that_is_always_right_has_no_regret():
    assert steps.cumulative_regret([1, 1, 1]) == 0.0
    assert steps.cumulative_regret([0.0, 0.5, 1.0]) == pytest.approx(1.5)
    assert steps.cumulative_regret([0.0, 0.5], lengths=[10, 20]) == pytest.approx(20.0)


# Potentials.


@untimed
@given(SCORES, st.floats(0.1, 1.0))
def test_discounted_shaping_telescopes(potentials: list[float], discount: float):
    shaping = steps.potential_differences(potentials, discount)
    total = sum(discount**t * f for t, f in enumerate(shaping))
    last = len(potentials) - 1
    assert total == pytest.approx(discount**last * potentials[-1] - potentials[0], abs=1e-9)


def test_waypoint_potential_is_the_path_that_remains():
    waypoints = [[2.0, 0.0], [2.0, 3.0]]
    positions = [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [2.0, 3.0]]
    assert steps.waypoint_potentials(positions, waypoints) == close([-5.0, -4.0, -3.0, 0.0])


def test_a_closed_loop_earns_nothing_from_waypoints():
    loop = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 0.0]]
    potentials = steps.waypoint_potentials(loop, [[9.0, 9.0]])
    assert steps.potential_differences(potentials).sum() == pytest.approx(0.0)


def test_without_waypoints_the_potential_is_0():
    assert steps.waypoint_potentials([[0.0], [5.0]], []).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("wrong", [[[1.0, 2.0]], 3.0])
def test_scores_must_be_one_sequence_of_numbers(wrong: object):
    with pytest.raises(InputError):
        steps.delta_steps(wrong)  # type: ignore[arg-type]


def test_an_episode_without_steps_has_no_rewards():
    for function in (steps.delta_steps, steps.min_form_steps, steps.suffix_sums):
        assert function([]).tolist() == []
