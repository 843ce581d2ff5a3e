"""Moving against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest
from palaestra.agents.grpo.recipes.stages import REGULARISERS

from ..tokens import tokens  # isort: skip


def value(name: str, scored, **params) -> list[float]:
    return REGULARISERS[name](scored, **params).value.tolist()


def test_the_convex_penalty_moves_from_the_reference_to_the_last_policy():
    # gaps: reference 1, last policy -.5; k2 = .5 and .125
    s = tokens([-1.0], [-1.5], 0.0, logp_ref=0.0)
    for share, expected in ((1.0, 0.5), (0.5, 0.3125), (0.0, 0.125)):
        assert value("kl_convex", s, coefficient=1.0, share=share, estimate="k2") == pytest.approx([expected])


def test_after_reincarnation_only_the_last_policy_counts():
    s = tokens([-1.0], [-1.5], 0.0, logp_ref=-1.0)
    assert value("kl_convex", s, coefficient=1.0, share=1.0) == pytest.approx([0])


def test_hard_tasks_pay_half():
    # success rates 1/4 and 1/2
    s = tokens([-1.0] * 6, None, 0.0, [1] * 6, group=[0] * 4 + [1] * 2, outcome=[1, 0, 0, 0, 1, 0], logp_ref=-1.5)
    got = value("kl_by_difficulty", s, coefficient=1.0)
    assert got[0] == pytest.approx(got[5] / 2)
    assert got[5] == pytest.approx(math.exp(-0.5) - 0.5)


@pytest.mark.parametrize(("successes", "hard"), [(3, True), (4, False)])
def test_the_border_of_difficulty_is_hard(successes, hard):
    outcome = [1] * successes + [0] * (10 - successes)
    s = tokens([-1.0] * 10, None, 0.0, [1] * 10, group=[0] * 10, outcome=outcome, logp_ref=-2.0)
    assert (value("kl_by_difficulty", s, coefficient=1.0, hard=0.0)[0] == 0) == hard


def test_small_penalties():
    s = tokens([-1.0], [-1.5], 0.0, entropy=0.7)
    assert value("log_ratio_square", s, coefficient=2.0) == pytest.approx([0.5])
    assert value("imitation", s, coefficient=0.1) == pytest.approx([0.1])
    assert value("entropy_bonus", s, coefficient=0.1) == pytest.approx([-0.07])
