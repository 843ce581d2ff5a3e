"""The adapter from batches and units to the arrays of a formula."""

from __future__ import annotations

import pytest
import torch
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.scored import needs_of
from palaestra.agents.grpo.batch.segments import Segments
from palaestra.agents.grpo.components.credit.baselines import leave_one_out
from palaestra.agents.grpo.components.credit.credit_arrays import BATCH_ARRAYS, UNIT_ARRAYS
from palaestra.agents.grpo.components.credit.process import token_gae
from palaestra.agents.grpo.recipes.stages import BASELINES, RETURNS, SCALES

from ...conftest import group, trajectory  # isort: skip


def test_formulas_are_functions_of_arrays_alone():
    peers = Segments(torch.tensor([0, 0, 1]), 2)
    assert leave_one_out(torch.tensor([1.0, 0.0, 5.0]), peers).tolist() == [0.0, 1.0, 5.0]
    # deltas 0.5 + 0 and 1 - 0.5 with V = 0, 0.5
    episode = Segments(torch.tensor([0, 0]), 1)
    got = token_gae(torch.tensor([0.0, 1.0]), torch.tensor([0.0, 0.5]), episode, discount=1.0, decay=1.0)
    assert got.tolist() == [1.0, 0.5]


def test_who_is_compared_is_a_parameter_where_the_component_has_one():
    batch = collate([group(*(trajectory(r, [([5], [6])]) for r in rs)) for rs in ([1.0, 0.0], [1.0])])
    units = RETURNS["outcome"](batch)
    assert "by" in BASELINES.parameters("group_mean")
    assert "by" not in BASELINES.parameters("batch_mean")
    assert BASELINES["group_mean"](units, batch).tolist() == [0.5, 0.5, 1.0]
    assert BASELINES["group_mean"](units, batch, by="batch").tolist() == BASELINES["batch_mean"](units, batch).tolist()


def test_a_scale_gets_the_centred_return_and_the_return():
    batch = collate([group(trajectory(1.0, [([5], [6])]), trajectory(0.0, [([5], [6])]))])
    units = RETURNS["outcome"](batch)
    centred = units.with_value(units.value - 0.5)
    # The mean of the returns is 1/2, that of the centred returns 0.
    assert SCALES["mean"](centred, batch).tolist() == [1.0, -1.0]


def test_a_measured_array_is_a_need():
    assert needs_of(RETURNS["gae"]) == {"value"}
    assert needs_of(RETURNS["kl_to_go"]) == {"logp_old", "logp_ref"}


@pytest.mark.parametrize("stage", [RETURNS, BASELINES, SCALES])
def test_no_parameter_of_a_component_looks_like_an_array(stage):
    for name in stage:
        assert not [p for p in stage.parameters(name) if p in {**UNIT_ARRAYS, **BATCH_ARRAYS}]
