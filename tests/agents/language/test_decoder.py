"""The forward pass that samples and the one that trains, over layers of every shape that has one of our own."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from palaestra.agents.engines.cache import KeyValueCache
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.packing import PACKERS
from palaestra.agents.grpo.batch.trajectory import Group, Trajectory, Turn
from palaestra.agents.language import decoder
from palaestra.agents.language.attention import attend_causally
from palaestra.agents.language.decoder import attention_shape, hidden_states

SIZES: dict[str, Any] = {
    "vocab_size": 50,
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 6,
}


def model_of(kind: str) -> Any:
    import transformers

    changes: dict[str, Any] = {"attention_bias": True, "mlp_bias": True} if kind == "Llama" else {}
    config = getattr(transformers, f"{kind}Config")(**SIZES, **changes)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = getattr(transformers, f"{kind}ForCausalLM")(config).double().eval()
        for weight in model.parameters():
            # Gains that are all one and biases that are all zero would hide where they are left out.
            weight.data += 0.1 * torch.randn_like(weight)
    return model


def tokens(count: int) -> torch.Tensor:
    return torch.randint(0, 50, (count,), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("kind", ["Llama", "Qwen2", "Qwen3"])
def test_states_without_a_gradient_are_those_with_one(kind):
    model, ids, lengths = model_of(kind), tokens(16), [9, 7]
    places = torch.cat([torch.arange(length) for length in lengths])
    trained = hidden_states(model, ids, places, attend_causally(lengths))
    with torch.no_grad():
        sampled = hidden_states(model, ids, places, attend_causally(lengths))
    torch.testing.assert_close(sampled, trained.detach(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("lengths", [(5, 5, 5), (5, 2, 7)], ids=["level", "ragged"])
def test_states_from_the_cache_are_those_of_whole_sequences(lengths):
    # Encoding, four steps, and two rows that change places in between.
    model, steps = model_of("Qwen3"), 4
    whole = [length + steps for length in lengths]
    rows = list(tokens(sum(whole)).split(whole))
    with torch.no_grad():
        places = torch.cat([torch.arange(length) for length in whole])
        expected = list(hidden_states(model, torch.cat(rows), places, attend_causally(whole)).split(whole))
        cache = KeyValueCache(attention_shape(model), 3, 64, model.lm_head.weight)
        filled, width = list(lengths), max(lengths)
        padded = torch.stack([torch.cat((row[:n], row.new_zeros(width - n))) for row, n in zip(rows, lengths)])
        positions, attend = cache.prepare_extension([0, 1, 2], [0, 0, 0], filled)
        hidden_states(model, padded.flatten(), positions, attend)
        cache.swap(0, filled[0], 2, filled[2])
        for listed in (rows, expected, filled):
            listed[0], listed[2] = listed[2], listed[0]
        for _ in range(steps):
            positions, span = torch.tensor(filled), max(filled) + 1
            cache.reserve(span)
            attend = cache.prepare_step(positions, span, span - 1 if len(set(filled)) == 1 else None)
            ids = torch.stack([row[n] for row, n in zip(rows, filled)])
            got = hidden_states(model, ids, positions, attend)
            torch.testing.assert_close(
                got, torch.stack([e[n] for e, n in zip(expected, filled)]), rtol=1e-12, atol=1e-12
            )
            filled = [n + 1 for n in filled]


@pytest.mark.parametrize("packer", ["plain", "shared_prefix"])
def test_packed_attention_has_the_gradient_of_each_row_on_its_own(packer):
    prompt, answers = tuple(range(4)), (3, 3, 6)
    members = [
        Trajectory("t", {}, 0.0, (Turn(prompt, tuple(range(n)), (0.0,) * n, "stop", 0.0),), True, 1.0, False, True, 9)
        for n in answers
    ]
    batch = collate([Group(0, tuple(members))])
    (micro,) = PACKERS[packer](batch, [0, 1, 2], 1000)
    noise = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn((len(micro.ids), heads, 6), generator=noise, dtype=torch.float64) for heads in (4, 2, 2))
    pull = torch.randn(q.shape, generator=noise, dtype=torch.float64)
    inputs = [x.requires_grad_() for x in (q, k, v)]
    got = torch.autograd.grad((micro.attend(0, *inputs) * pull).sum(), inputs)
    total = torch.zeros((), dtype=torch.float64)
    for segment in micro.segments:
        seen = torch.tensor([*segment.context, *segment.own])
        mixed = attend_causally([len(seen)])(0, *(x[seen] for x in inputs))
        total = total + (mixed[len(segment.context) :] * pull[list(segment.own)]).sum()
    for ours, plain in zip(got, torch.autograd.grad(total, inputs), strict=True):
        torch.testing.assert_close(ours, plain, rtol=1e-12, atol=1e-12)


@pytest.mark.filterwarnings("ignore:The .grad attribute")  # torch's own, while it compiles
@pytest.mark.parametrize("checkpoint", [False, True])
def test_compiled_layers_have_the_same_gradient_and_are_compiled_once_for_all(monkeypatch, checkpoint):
    compiled: list[Any] = []

    def count(graph, inputs):
        compiled.append(graph)
        return graph

    torch._dynamo.reset()
    pieces = (decoder._before_attention, decoder._after_attention)
    parts = tuple(torch.compile(piece, backend=count, dynamic=True) for piece in pieces)
    monkeypatch.setattr(decoder, "_compiled_parts", lambda: parts)
    model = model_of("Qwen3")
    for length in (9, 14):
        gradients = []
        for how in ({}, {"compiled": True, "checkpoint": checkpoint}):
            model.zero_grad()
            hidden_states(
                model, tokens(length), torch.arange(length), attend_causally([length]), **how
            ).sum().backward()
            gradients.append([weight.grad for weight in model.parameters() if weight.grad is not None])
        for plain, fused in zip(*gradients, strict=True):
            torch.testing.assert_close(fused, plain, rtol=1e-9, atol=1e-12)
    assert len(compiled) == 2
