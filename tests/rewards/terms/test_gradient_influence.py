from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make

Maker = Callable[..., Episode]


FORM = "<think>t</think><answer>4</answer>"


def gram_of(*gradients: list[float]) -> np.ndarray:
    matrix = np.array(gradients)
    return matrix @ matrix.T


def of_two(**options: Any) -> Any:
    parts = {"correct": {"name": "verifiable", "scale": 1.0}, "format": {"name": "format"}}
    return make("gradient-influence", objectives=parts, **options)


def test_orthogonal_gradients_of_equal_length_leave_the_weights_uniform():
    reward = of_two()
    reward.update(gram_of([1.0, 0.0], [0.0, 1.0]))
    assert list(reward.weights.values()) == pytest.approx([0.5, 0.5])


def test_a_longer_gradient_raises_its_weight_by_the_step_of_the_log():
    reward = of_two(lr=0.1, mu=2.0)
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
    reward = of_two()
    reward.update([[1e6, 0.0], [0.0, 0.0]])
    assert reward.weights == {"correct": 1.0, "format": 0.0}


def test_a_gradient_against_all_others_loses_weight():
    reward = of_two()
    reward.update(gram_of([1.0, 0.0], [-2.0, 0.1]))
    assert reward.weights["correct"] < 0.5


def test_rewards_are_weighed_with_the_weights_at_hand(episode: Maker):
    reward = of_two()
    assert reward(episode(True)).reward == pytest.approx(0.5)
    reward.update([[np.log(3.0) * 10, 0.0], [0.0, 0.0]])
    assert reward(episode(True)).terms["correct"] == pytest.approx(0.75)


def test_a_resumed_run_keeps_its_weights():
    reward, resumed = of_two(), of_two()
    reward.update([[1.0, 0.0], [0.0, 0.0]])
    resumed.load_state_dict(json.loads(json.dumps(reward.state_dict())))
    assert resumed.weights == reward.weights


@pytest.mark.parametrize("gram", [[[1.0]], [[1.0, 0.0], [0.0, float("nan")]], [1.0, 2.0]])
def test_products_of_another_shape_are_refused(gram: Any):
    with pytest.raises(InputError, match="2 x 2"):
        of_two().update(gram)
