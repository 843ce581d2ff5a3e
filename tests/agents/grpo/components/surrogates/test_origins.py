"""Origins against numbers worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from palaestra.agents.grpo.batch.trajectory import Origin
from palaestra.agents.grpo.components.surrogates.origins import shaped_importance
from palaestra.agents.grpo.recipes.stages import SURROGATES

from ..tokens import slope, tokens  # isort: skip


LN = math.log


def value(name: str, scored, **params) -> list[float]:
    return SURROGATES[name](scored, **params).value.tolist()


def test_the_shaped_ratio_favours_rare_tokens():
    s = tokens([LN(0.4), LN(0.1)], 0.0, 1.0)
    assert value("shaped_ratio", s) == pytest.approx([0.8, 0.5])
    # gamma p / (p + gamma)^2; by probability instead of its logarithm it is gamma / (p + gamma)^2
    assert slope(SURROGATES["shaped_ratio"], s) == pytest.approx([0.16, 0.25])


@pytest.mark.parametrize(("p", "expected"), [(0.5, 0.8), (1.0, 1.0), (0.01, 0.02 / 0.515)])
def test_the_external_ratio_never_explodes(p, expected):
    s = tokens([LN(p)], None, 1.0)
    assert value("rl_plus", s, gamma=0.0) == pytest.approx([expected])


def test_known_tokens_of_a_teacher_have_no_gradient():
    assert slope(SURROGATES["rl_plus"], tokens([0.0], None, 1.0)) == [0.0]
    # (1 - .5)^.5 = .7071
    assert value("rl_plus", tokens([LN(0.5)], None, 1.0)) == pytest.approx([0.8 * 0.70710678])


def test_each_origin_has_its_surrogate():
    origin = [int(Origin.POLICY), int(Origin.TEACHER), int(Origin.HINT), int(Origin.POLICY)]
    s = tokens([LN(0.4)] * 4, [LN(0.2), 0.0, 0.0, LN(0.4)], 1.0, origin=origin)
    shaped, likelihood = SURROGATES["shaped_ratio"], SURROGATES["likelihood"]
    term = SURROGATES["by_origin"](s, teacher=shaped, hint=likelihood)
    assert term.value.tolist() == pytest.approx([1.2, 0.8, LN(0.4), 1.0])
    assert term.stats["clip_fraction"] == (1, 2)
    assert term.stats["hint_nll"][1] == 1


def test_an_origin_without_a_surrogate_has_the_policys():
    s = tokens([LN(0.4)] * 2, LN(0.2), 1.0, origin=[0, int(Origin.COPY)])
    assert value("by_origin", s) == pytest.approx([1.2, 1.2])


def test_an_episodes_ratio_is_taken_over_the_tokens_of_one_origin():
    s = tokens([-1.0, -0.5], [-1.0, -3.0], 1.0, origin=[0, int(Origin.TEACHER)])
    assert value("by_origin", s, policy=SURROGATES["gspo"], teacher=SURROGATES["none"]) == pytest.approx([1.0, 0.0])


def test_shaped_importance_is_bounded_with_its_steepest_slope_at_gamma():
    log_ratio = torch.tensor([0.0, np.log(0.1), -80.0, 80.0], dtype=torch.float64, requires_grad=True)
    zero, two = torch.zeros(4, dtype=torch.float64), torch.full((4,), 2.0, dtype=torch.float64)
    value = shaped_importance(log_ratio, zero, two)
    # 2 x 1 / 1.1, 2 x 1/2, 0 and 2.
    assert value.tolist() == pytest.approx([1.8182, 1.0, 0.0, 2.0], abs=1e-4)
    (slope,) = torch.autograd.grad(value.sum(), log_ratio)
    # A gamma r / (r + gamma)^2: 2 x 0.1 / 1.21, then 2 x 1/4.
    assert slope.tolist() == pytest.approx([0.16529, 0.5, 0.0, 0.0], abs=1e-5)
