"""A step of a real chat model whose tokens are sampled by vLLM; see `vllm_trial.py`."""

from __future__ import annotations

import pytest

TOLERANCE = 2e-2
"""Mean difference of log-probabilities from torch on the same weights, in nats, before the only update."""


@pytest.mark.usefixtures("real_models")
def test_vllm_samples_a_registered_model_with_our_log_probabilities(vllm_trial):
    assert vllm_trial["train smollm2-135m"] == 0
    (row,) = vllm_trial["rows smollm2-135m"]
    assert row["updates"] == 1
    assert 0 < row["sampler_gap"] < TOLERANCE
