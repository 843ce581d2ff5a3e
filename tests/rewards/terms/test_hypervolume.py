from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make
from palaestra.rewards.terms.hypervolume import (
    hypervolume,
    hypervolume_gain,
    hypervolume_multiplier,
    pareto_front,
)

Maker = Callable[..., Episode]


FORM = "<think>t</think><answer>4</answer>"


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
def test_wrong_arguments_are_refused(wrong: dict[str, Any]):
    with pytest.raises(InputError):
        make("hypervolume", **wrong)
