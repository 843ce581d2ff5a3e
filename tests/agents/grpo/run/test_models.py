"""The policy of a run: what a checkpoint gives back is what was trained."""

from __future__ import annotations

import pytest
import torch
from palaestra.agents.grpo.config import TrainConfig
from palaestra.agents.grpo.run.models import load_policy
from palaestra.agents.language.attention import attend_causally
from palaestra.agents.language.decoder import hidden_states


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_policy_computes_the_same_after_it_was_saved_and_loaded(dtype, tmp_path):
    config = TrainConfig(dtype=dtype, device="cpu")
    begun = load_policy(config)
    begun.save(tmp_path)
    resumed = load_policy(config, tmp_path)
    ids = torch.arange(5, 85).tile(4)
    place = torch.arange(len(ids))
    with torch.no_grad():
        first, second = (hidden_states(x.model, ids, place, attend_causally([len(ids)])) for x in (begun, resumed))
    assert first.dtype == getattr(torch, dtype)
    assert torch.equal(first, second)


def test_half_precision_weights_leave_rotary_frequencies_as_they_are():
    model = load_policy(TrainConfig(dtype="bfloat16", device="cpu")).model
    assert {weight.dtype for weight in model.parameters()} == {torch.bfloat16}
    assert {buffer.dtype for buffer in model.buffers()} == {torch.float32}


@pytest.mark.parametrize("vocabulary", [0, 300])
def test_a_policy_is_saved_to_the_same_bytes_after_it_was_loaded(vocabulary, tmp_path):
    config = TrainConfig(device="cpu", vocabulary=vocabulary)
    load_policy(config, texts=["one and two are three"] * 9).save(tmp_path / "first")
    load_policy(config, tmp_path / "first").save(tmp_path / "second")
    first, second = ({file.name: file.read_bytes() for file in (tmp_path / x).iterdir()} for x in ("first", "second"))
    assert first == second
