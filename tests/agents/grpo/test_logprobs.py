"""Chunked log-probabilities against dense ones."""

from __future__ import annotations

import pytest
import torch
from palaestra.agents.grpo import logprobs
from palaestra.agents.grpo.batch import collate
from palaestra.agents.grpo.logprobs import token_logps
from palaestra.agents.grpo.objective import score
from palaestra.agents.grpo.packing import PACKERS
from palaestra.agents.language.decoder import check_architecture
from palaestra.errors import InputError


@pytest.mark.parametrize("temperature", [0.5, 1.0, 1.5])
@pytest.mark.parametrize("chunk", [1, 3, 1000])
def test_values_and_gradients_equal_the_dense_ones(monkeypatch, temperature, chunk):
    monkeypatch.setattr(logprobs, "_chunk", lambda weight: chunk)
    torch.manual_seed(0)
    hidden = torch.randn(7, 5, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(11, 5, dtype=torch.float64, requires_grad=True)
    targets = torch.tensor([0, 10, 3, 3, 7, 1, 2])
    upstream = torch.randn(7, dtype=torch.float64)

    logp, entropy = token_logps(hidden, weight, targets, temperature)
    dense = (hidden @ weight.T / temperature).log_softmax(-1)
    assert torch.allclose(logp, dense.gather(-1, targets[:, None])[:, 0])
    assert torch.allclose(entropy, -(dense.exp() * dense).sum(-1))

    ours = torch.autograd.grad(logp, (hidden, weight), upstream)
    theirs = torch.autograd.grad(dense.gather(-1, targets[:, None])[:, 0], (hidden, weight), upstream)
    for a, b in zip(ours, theirs, strict=True):
        assert torch.allclose(a, b)


@pytest.mark.parametrize("packer", ["plain", "shared_prefix"])
@pytest.mark.parametrize("architecture", ["qwen3", "qwen2", "llama"])
def test_packed_scores_equal_transformers_row_by_row(ragged, packer, architecture):
    from transformers import AutoConfig, AutoModelForCausalLM

    config = AutoConfig.for_model(
        architecture,
        vocab_size=101,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        max_position_embeddings=128,
        tie_word_embeddings=False,
    )
    torch.manual_seed(1)
    model = AutoModelForCausalLM.from_config(config).double().eval()
    batch = collate(ragged)
    got = torch.zeros(len(batch.ids), dtype=torch.float64)
    for micro in PACKERS[packer](batch, range(batch.rows), 60):
        got[micro.scored] = score(model, micro, 1.0)[0].detach()
    for row in range(batch.rows):
        place = batch.row_slice(row)
        with torch.no_grad():
            logps = model(batch.ids[place][None]).logits[0].log_softmax(-1)
        own = logps[:-1].gather(-1, batch.ids[place][1:, None])[:, 0]
        acted = batch.action[place][1:]
        assert torch.allclose(got[place][1:][acted], own[acted], rtol=0, atol=1e-5)


def test_gradients_of_the_forward_pass_equal_those_of_transformers(small, ragged):
    import copy

    batch = collate(ragged)
    ours, theirs = copy.deepcopy(small.model).double(), copy.deepcopy(small.model).double()
    for micro in PACKERS["shared_prefix"](batch, range(batch.rows), 10_000):
        score(ours, micro, 1.0)[0].sum().backward()
    for row in range(batch.rows):
        place = batch.row_slice(row)
        logps = theirs(batch.ids[place][None]).logits[0].log_softmax(-1)
        own = logps[:-1].gather(-1, batch.ids[place][1:, None])[:, 0]
        own[batch.action[place][1:]].sum().backward()
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        # transformers takes norms in single precision whatever the weights are.
        assert torch.allclose(a.grad, b.grad, rtol=1e-4, atol=1e-5)


def test_an_unsupported_architecture_is_refused_by_name():
    from transformers import GPT2Config

    with pytest.raises(InputError, match="model type 'gpt2' is not supported"):
        check_architecture(GPT2Config())
