from __future__ import annotations

import copy

import pytest
import torch
from palaestra.agents.engines.gap import check_gap, measure_gap
from palaestra.agents.language.model import LanguageModel
from palaestra.errors import InputError


@pytest.fixture
def other(small):
    """The model with one of its matrices at other values, as if it had not been loaded."""
    model = copy.deepcopy(small.model)
    with torch.no_grad():
        model.model.layers[1].mlp.down_proj.weight.normal_(generator=torch.Generator().manual_seed(1))
    return LanguageModel.of(model, small.tokenizer)


def test_the_same_weights_have_no_gap(small):
    engine = small.engine(1, 100)
    assert measure_gap(engine, small, len(small.tokenizer)) < 1e-6
    check_gap("torch", engine, small, len(small.tokenizer))


def test_a_matrix_that_did_not_arrive_is_told(small, other):
    engine = other.engine(1, 100)
    assert measure_gap(engine, small, len(small.tokenizer)) > 0.01
    with pytest.raises(InputError, match=r"'vllm' does not compute what this Qwen3ForCausalLM does: .* take --engine"):
        check_gap("vllm", engine, small, len(small.tokenizer))
