"""How the reference follows, by hand."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
import torch
from palaestra.agents.grpo.components.references import (
    AtStep,
    Frozen,
    MovingAverage,
    OnStall,
    Periodic,
    Previous,
    Reptile,
)
from palaestra.agents.grpo.config import TrainConfig
from palaestra.agents.grpo.optimizer_steps import OptimizerSteps
from palaestra.agents.grpo.recipes.stages import REFERENCES
from palaestra.errors import InputError


def moves(rule, measurements):
    return [rule.after_step(i + 1, {} if m is None else {"validation": m}) for i, m in enumerate(measurements)]


def test_a_moving_average_keeps_alpha_of_the_old_reference():
    assert MovingAverage(alpha=0.75).after_step(1, {}) == 0.25


def test_alpha_one_is_static_and_alpha_zero_is_the_policy():
    assert MovingAverage(alpha=1.0).after_step(1, {}) is None
    assert MovingAverage(alpha=0.0).after_step(1, {}) == Previous().after_step(1, {}) == 1.0
    assert Frozen().after_step(1, {}) is None


def test_periodic_replaces_every_third():
    assert moves(Periodic(every=3), [None] * 7) == [None, None, 1.0, None, None, 1.0, None]


def test_reincarnation_happens_once():
    assert moves(AtStep(step=2), [None] * 4) == [None, 1.0, None, None]


def test_a_stall_is_patience_measurements_without_a_gain():
    rule = OnStall(patience=2)
    # The best is 0.5; 0.5 and 0.4 do not exceed it. After the reset counting begins anew at 0.4.
    assert moves(rule, [0.3, None, 0.5, 0.5, None, 0.4, 0.4, 0.3, 0.3]) == [None] * 5 + [1.0] + [None] * 2 + [1.0]
    assert rule.clears_optimizer


def test_a_reset_happens_at_most_once_in_patience_measurements():
    resets = [i for i, move in enumerate(moves(OnStall(patience=3), [0.5] * 20)) if move]
    assert len(resets) == 5
    assert min(b - a for a, b in pairwise(resets)) >= 3


def test_without_a_stall_the_reference_never_moves():
    assert moves(OnStall(patience=1), [0.1, 0.2, 0.3, 0.4]) == [None] * 4


def test_a_gain_below_min_gain_is_none():
    assert moves(OnStall(patience=1, min_gain=0.1), [0.5, 0.55]) == [None, 1.0]


def test_a_stall_goes_on_after_resuming():
    one, other = OnStall(patience=3), OnStall(patience=3)
    moves(one, [0.5, 0.4])
    other.load_state_dict(json.loads(json.dumps(one.state_dict())))
    assert moves(one, [0.4, 0.4]) == moves(other, [0.4, 0.4]) == [None, 1.0]


@pytest.mark.parametrize("name", [n for n in REFERENCES if n != "on_stall"])
def test_rules_without_memory_have_no_state(name):
    assert REFERENCES[name]().state_dict() == {}


def test_a_share_outside_the_unit_interval_is_refused():
    with pytest.raises(InputError, match=r"alpha must be a number in \[0, 1\], not 1.5"):
        MovingAverage(alpha=1.5)


def after_inner_steps(theta: float, optimum: float, share: float) -> tuple[float, float]:
    """Policy and reference after inner steps on 1/2 (w - optimum)^2 from theta, long enough to reach the optimum."""
    policy, reference = (torch.nn.Linear(1, 1, bias=False) for _ in range(2))
    torch.nn.init.constant_(policy.weight, optimum)
    torch.nn.init.constant_(reference.weight, theta)
    steps = OptimizerSteps(TrainConfig(), policy, reference)
    moved = Reptile(inner=2, share=share).after_step(4, {})
    assert moved is not None
    steps.move_reference(moved)
    steps.return_to_reference()
    return float(policy.weight.item()), float(reference.weight.item())


def test_reptile_ends_between_the_optima_of_its_tasks():
    assert moves(Reptile(inner=2, share=0.5), [None] * 5) == [None, 0.5, None, 0.5, None]
    assert after_inner_steps(0.0, 4.0, share=0.25) == (1.0, 1.0)
    assert after_inner_steps(0.0, 4.0, share=1.0) == (4.0, 4.0)  # theta = phi
    optima = (1.0, 2.0, 6.0)  # of which the mean is the fixed point of the expected update
    drift = [after_inner_steps(3.0, optimum, share=0.5)[0] - 3.0 for optimum in optima]
    assert sum(drift) == pytest.approx(0.0, abs=1e-6)
    assert sum(after_inner_steps(2.0, optimum, share=0.5)[0] - 2.0 for optimum in optima) > 0
