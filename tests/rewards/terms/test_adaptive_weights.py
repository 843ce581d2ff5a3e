from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make
from palaestra.rewards.terms.adaptive_weights import (
    hypervolume,
    hypervolume_gain,
    hypervolume_multiplier,
    mixing_weights,
    pareto_front,
    search_thresholds,
)

Maker = Callable[..., Episode]


FORM = "<think>t</think><answer>4</answer>"


def test_full_multipliers_leave_nothing_of_the_task():
    assert mixing_weights([1.0, 1.0]) == [0.0, 1.0, 1.0]


def test_one_constraint_makes_a_convex_combination():
    for multiplier in (0.0, 0.3, 1.0):
        weights = mixing_weights([multiplier])
        assert sum(weights) == pytest.approx(1.0)
        assert min(weights) >= 0.0


@pytest.mark.parametrize("mode", ["inequality", "equality"])
def test_below_its_threshold_a_multiplier_strictly_rises_and_at_it_stays(mode: str):
    reward = make("lagrangian", mode=mode)
    start = reward.multipliers["format"]
    reward.update({"format": 0.9})
    assert reward.multipliers["format"] == start
    values = [start]
    for _ in range(5):
        reward.update({"format": 0.2})
        values.append(reward.multipliers["format"])
    assert all(later > earlier for earlier, later in pairwise(values))


def test_above_its_threshold_a_multiplier_falls_and_an_equality_may_turn_negative():
    reward = make("lagrangian", mode="equality", thresholds={"format": 0.5}, constraints={"format": make("format")})
    reward.update({"format": 1.0})
    assert reward.multipliers["format"] < 0.0


def test_one_step_by_hand():
    reward = make("lagrangian", lr=0.01, momentum=0.1)
    reward.update({"format": 0.5})  # sigmoid' = 0.25, times -0.4
    assert reward.xi["format"] == pytest.approx(0.001)
    reward.update({"format": 0.9})  # momentum alone
    assert reward.xi["format"] == pytest.approx(0.0011, abs=1e-9)


def test_a_batch_is_mixed_first_and_learnt_from_then(episode: Maker):
    reward = make("lagrangian")
    verdicts = reward.batch([[episode(True)], [episode(False, text=FORM)], [episode(valid=False)]])
    assert [verdict.reward for verdict in (verdicts[0][0], verdicts[1][0])] == [0.5, 0.5]
    assert not verdicts[2][0].valid
    assert reward.xi["format"] == pytest.approx(0.01 * 0.25 * 0.4)  # one step for the batch, its mean 0.5


def test_for_evaluation_it_does_not_learn(episode: Maker):
    reward = make("lagrangian", learning=False)
    reward.group([episode(True)])
    assert reward.multipliers == {"format": 0.5}


def test_normalised_rewards_have_mean_nothing(episode: Maker):
    verdicts = make("lagrangian", normalise=True).group([episode(True), episode(False)])
    assert [verdict.reward for verdict in verdicts] == pytest.approx([0.5, -0.5])


def test_a_resumed_run_goes_on(episode: Maker):
    reward, resumed = make("lagrangian"), make("lagrangian")
    reward.group([episode(True)])
    resumed.load_state_dict(json.loads(json.dumps(reward.state_dict())))
    assert resumed.group([episode(True)])[0].reward == reward.group([episode(True)])[0].reward
    assert resumed.xi == reward.xi


@pytest.mark.parametrize(
    "wrong", [{"thresholds": {"form": 0.5}}, {"constraints": {}}, {"mode": "nu"}, {"momentum": 1.0}, {"lr": 0}]
)
def test_wrong_arguments_of_the_lagrangian_are_refused(wrong: dict[str, Any]):
    with pytest.raises(InputError):
        make("lagrangian", **wrong)


def test_it_finds_the_maximum_of_a_paraboloid():
    found = search_thresholds(
        lambda t: 1 - (t["format"] - 0.7) ** 2 - 4 * (t["length"] + 0.2) ** 2, {"format": 0.0, "length": 0.0}
    )
    assert dict(found.thresholds) == pytest.approx({"format": 0.7, "length": -0.2}, abs=0.02)
    assert found.value == pytest.approx(1, abs=1e-3)
    assert len(found.tried) <= 50


def test_the_best_point_is_one_that_was_tried_and_none_was_better():
    found = search_thresholds(lambda t: -abs(t["a"] - 3), {"a": 0.0}, spread=1.0, evaluations=7)
    assert len(found.tried) <= 7
    assert found.value == max(value for _, value in found.tried)
    assert (found.thresholds, found.value) in found.tried


@pytest.mark.parametrize(
    ("options", "words"),
    [({"start": {}}, "at least one threshold"), ({"start": {"a": 0.0}, "spread": 0.0}, "spread")],
)
def test_bad_input_is_refused(options, words):
    with pytest.raises(InputError, match=words):
        search_thresholds(lambda t: 0.0, **options)


def test_a_value_that_is_no_number_is_refused():
    with pytest.raises(InputError, match="value that evaluate returned"):
        search_thresholds(lambda t: float("nan"), {"a": 0.0})


def test_two_crossing_rectangles_cover_three():
    assert hypervolume([(1.0, 2.0), (2.0, 1.0)], (0.0, 0.0)) == 3.0


def test_points_at_or_below_the_reference_add_nothing():
    assert hypervolume([(0.0, 5.0), (-1.0, 2.0)], (0.0, 0.0)) == 0.0
    assert hypervolume([(3.0, 2.0)], (1.0, 1.0)) == 2.0


@pytest.mark.parametrize("objectives", [1, 2, 3, 4])
def test_slices_agree_with_inclusion_and_exclusion(objectives: int):
    rng = np.random.default_rng(objectives)
    points = [tuple(map(float, rng.integers(1, 9, objectives))) for _ in range(7)]
    expected = 0.0
    for count in range(1, len(points) + 1):
        for chosen in itertools.combinations(points, count):
            expected += (-1) ** (count + 1) * math.prod(min(values) for values in zip(*chosen))
    assert hypervolume(points, (0.0,) * objectives) == pytest.approx(expected)


def test_a_dominated_point_gains_nothing_and_halves_the_reward():
    assert hypervolume_gain((1.0, 1.0), [(1.0, 2.0), (2.0, 1.0)], (0.0, 0.0)) == 0.0
    assert hypervolume_multiplier(0.0) == 0.5
    assert hypervolume_multiplier(0.5) == 0.5 + 1.5 * math.tanh(0.5)


def test_the_front_keeps_what_nothing_exceeds():
    assert pareto_front([(1, 2), (1, 1), (2, 1), (1, 2)]) == [(1, 2), (2, 1)]


def of_two(**options: Any) -> Any:
    parts = {"correct": {"name": "verifiable", "scale": 1.0}, "format": {"name": "format"}}
    return make("hypervolume", objectives=parts, **options)


def test_a_batch_that_enlarges_the_front_counts_more_than_one_that_repeats_it(episode: Maker):
    reward = of_two()
    group = [episode(True, text=FORM), episode(False, text=FORM)]  # mean (0.5, 1): gain 0.5
    first, again = reward.group(group), reward.group(group)
    gain = 0.5 + 1.5 * math.tanh(0.5)
    assert [verdict.reward for verdict in first] == pytest.approx([gain, gain * 0.5])
    assert [verdict.reward for verdict in again] == [0.5, 0.25]
    assert first[0].terms == {"correct": pytest.approx(gain * 0.5), "format": pytest.approx(gain * 0.5)}


def test_one_batch_has_one_multiplier(episode: Maker):
    verdicts = of_two().batch([[episode(True, text=FORM)], [episode(False, text=FORM)], [episode(valid=False)]])
    assert verdicts[0][0].reward == 2 * verdicts[1][0].reward
    assert not verdicts[2][0].valid


def test_a_point_that_gains_nothing_does_not_join_the_front(episode: Maker):
    reward = of_two()
    reward.group([episode(True, text=FORM)])
    reward.group([episode(False)])
    assert reward.front == [(1.0, 1.0)]


def test_a_resumed_run_keeps_its_front(episode: Maker):
    reward, resumed = of_two(), of_two()
    reward.group([episode(True, text=FORM)])
    resumed.load_state_dict(json.loads(json.dumps(reward.state_dict())))
    assert resumed.front == reward.front == [(1.0, 1.0)]
    assert resumed.group([episode(True, text=FORM)])[0].reward == 0.5


def test_correctness_comes_first_by_default_and_nothing_is_promised_otherwise():
    assert make("hypervolume").ranks_success
    assert not of_two().ranks_success
    assert not make("hypervolume", weights={"correct": 0.1, "format": 0.9}).ranks_success


@pytest.mark.parametrize("wrong", [{"weights": {"corect": 1}}, {"reference": {"x": 0}}, {"weights": {"correct": -1}}])
def test_wrong_arguments_of_hypervolume_are_refused(wrong: dict[str, Any]):
    with pytest.raises(InputError):
        make("hypervolume", **wrong)


def gram_of(*gradients: list[float]) -> np.ndarray:
    matrix = np.array(gradients)
    return matrix @ matrix.T


def influence_of_two(**options: Any) -> Any:
    parts = {"correct": {"name": "verifiable", "scale": 1.0}, "format": {"name": "format"}}
    return make("gradient-influence", objectives=parts, **options)


def test_orthogonal_gradients_of_equal_length_leave_the_weights_uniform():
    reward = influence_of_two()
    reward.update(gram_of([1.0, 0.0], [0.0, 1.0]))
    assert list(reward.weights.values()) == pytest.approx([0.5, 0.5])


def test_a_longer_gradient_raises_its_weight_by_the_step_of_the_log():
    reward = influence_of_two(lr=0.1, mu=2.0)
    reward.update(gram_of([2.0, 0.0], [0.0, 1.0]))
    # log-odds 0.1 / 2 * (4 - 1)
    assert np.log(reward.weights["correct"] / reward.weights["format"]) == pytest.approx(0.15)
    assert sum(reward.weights.values()) == pytest.approx(1.0)


def test_a_gradient_gains_by_those_that_point_its_way():
    # Sums of the products are 1, 1 and 0, though the third gradient is the longest.
    reward = make("gradient-influence", lr=0.1)
    reward.update(gram_of([1.0, 0.0], [1.0, 0.0], [-1.0, 1.0]))
    first, second, third = reward.weights.values()
    assert first == pytest.approx(second)
    assert np.log(first / third) == pytest.approx(0.1)


def test_huge_gradients_do_not_overflow():
    reward = influence_of_two()
    reward.update([[1e6, 0.0], [0.0, 0.0]])
    assert reward.weights == {"correct": 1.0, "format": 0.0}


def test_a_gradient_against_all_others_loses_weight():
    reward = influence_of_two()
    reward.update(gram_of([1.0, 0.0], [-2.0, 0.1]))
    assert reward.weights["correct"] < 0.5


def test_rewards_are_weighed_with_the_weights_at_hand(episode: Maker):
    reward = influence_of_two()
    assert reward(episode(True)).reward == pytest.approx(0.5)
    reward.update([[np.log(3.0) * 10, 0.0], [0.0, 0.0]])
    assert reward(episode(True)).terms["correct"] == pytest.approx(0.75)


def test_a_resumed_run_keeps_its_weights():
    reward, resumed = influence_of_two(), influence_of_two()
    reward.update([[1.0, 0.0], [0.0, 0.0]])
    resumed.load_state_dict(json.loads(json.dumps(reward.state_dict())))
    assert resumed.weights == reward.weights


@pytest.mark.parametrize("gram", [[[1.0]], [[1.0, 0.0], [0.0, float("nan")]], [1.0, 2.0]])
def test_products_of_another_shape_are_refused(gram: Any):
    with pytest.raises(InputError, match="2 x 2"):
        influence_of_two().update(gram)
