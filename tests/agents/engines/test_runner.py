"""Logits of the runner against transformers' own forward pass, and encodings that are shared."""

from __future__ import annotations

import pytest
import torch
from palaestra.agents.engines import runner as runner_module
from palaestra.agents.engines.cache import KeyValueCache
from palaestra.agents.engines.prompts import SharedPrompts
from palaestra.agents.engines.runner import ModelRunner
from palaestra.agents.engines.sampler import Request
from palaestra.agents.engines.sequence import TokenSequence
from palaestra.agents.language.decoder import attention_shape

VOCABULARY = 90


@pytest.fixture
def runner(small) -> ModelRunner:
    shape, like = attention_shape(small.model), small.model.lm_head.weight.detach()
    prompts = SharedPrompts(shape, 2, 4, 64, like, worth=1e9)
    return ModelRunner(small.model, KeyValueCache(shape, 4, 64, like), prompts, VOCABULARY, fp32_head=False)


def started(row: int, *ids: int) -> TokenSequence:
    sequence = TokenSequence(row, row)
    sequence.start(Request(row, ids, 5))
    return sequence


@torch.inference_mode()
def test_prompts_of_different_lengths_and_a_decoded_token_give_the_models_logits(small, runner):
    prompts = [[5, 6, 7], [8], [9, 10]]
    sequences = [started(row, *prompt) for row, prompt in enumerate(prompts)]
    first = runner.encode(sequences)
    for sequence, prompt in zip(sequences, prompts):
        assert (sequence.cached, sequence.pending) == (len(prompt), [])
    runner._cache.reserve(4)
    second = runner.step(torch.tensor([40, 41, 42]), torch.tensor([3, 1, 2]), span=4)
    for row, prompt in enumerate(prompts):
        expected = small.model(torch.tensor([[*prompt, 40 + row]])).logits[0, -2:, :VOCABULARY]
        torch.testing.assert_close(torch.stack([first[row], second[row]]), expected, atol=2e-5, rtol=0)


@torch.inference_mode()
def test_equal_prompts_are_encoded_once(runner, monkeypatch: pytest.MonkeyPatch):
    fed: list[int] = []
    forward = runner_module.hidden_states

    def counted(model, ids, positions, attend, **given):
        fed.append(len(ids))
        return forward(model, ids, positions, attend, **given)

    monkeypatch.setattr(runner_module, "hidden_states", counted)
    sequences = [started(0, 5, 6, 7), started(1, 8, 9, 10), started(2, 5, 6, 7), started(3, 5, 6, 7)]
    logits = runner.encode(sequences)
    assert fed == [6]
    assert torch.equal(logits[0], logits[2])
    assert [sequence.cached for sequence in sequences] == [3, 3, 3, 3]
    # Their rows hold the same keys: they go on alike.
    runner._cache.reserve(4)
    logits = runner.step(torch.tensor([11] * 4), torch.tensor([3] * 4), span=4, level=3)
    torch.testing.assert_close(logits[0], logits[3])
    assert not torch.allclose(logits[0], logits[1])


def test_graphs_depend_on_where_rows_and_shared_prompts_lie(runner):
    seen = [runner.addresses()]
    for memory in (runner._cache, runner.prompts.memory):
        memory.reserve(8)
        seen.append(runner.addresses())
    assert len(set(seen)) == 3


def test_states_of_the_weights_are_told_apart(small, runner):
    weight = small.model.lm_head.weight
    before = runner.weights()
    assert runner.weights() == before
    with torch.no_grad():
        weight.mul_(1.0)
    assert runner.weights() != before
    before, kept = runner.weights(), weight.data
    weight.data = kept.clone()
    assert runner.weights() != before
    weight.data = kept
    with torch.inference_mode():
        small.model.uncounted = torch.nn.Parameter(torch.zeros(1))
    assert runner.weights() != runner.weights()
    del small.model.uncounted
