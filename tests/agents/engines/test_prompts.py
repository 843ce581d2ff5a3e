"""Shared prompts: what is sampled with them equals what is sampled with copies, and places are given back."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterable
from typing import Any

import pytest
import torch
from palaestra.agents.engines import runner as runner_module
from palaestra.agents.engines.graphs import NoCapture
from palaestra.agents.engines.prompts import places_within
from palaestra.agents.engines.sampler import Completion, Request
from palaestra.agents.engines.sequence import SharedPrompt
from palaestra.agents.engines.torch_engine import TorchEngine

from .step_recorder import StepRecorder, count_reads

VOCABULARY = 90
NEVER = 1 << 30
CAPTURES = [None, NoCapture, StepRecorder]


@pytest.fixture(scope="module")
def gemma() -> Any:
    """Grouped heads, softcaps low enough to bend, and windows of 7 in every other layer."""
    from transformers import Gemma2Config, Gemma2ForCausalLM

    torch.manual_seed(1)
    sizes = {
        "vocab_size": 101,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "query_pre_attn_scalar": 32,
    }
    config = Gemma2Config(**sizes, sliding_window=7, attn_logit_softcapping=0.5, max_position_embeddings=128)
    model = Gemma2ForCausalLM(config).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.1 * torch.randn_like(weight)
    return model


def engine_of(model: Any, shared_from: int, slots: int = 8, capture: Any = None, **options) -> TorchEngine:
    return TorchEngine(model, range(0, 90, 25), VOCABULARY, slots, 128, capture=capture, shared_from=shared_from, **options)


def prompt_of(number: int, length: int = 20) -> list[int]:
    return random.Random(number).choices(range(5, 90), k=length)


def group(sessions: Iterable[int], prompt: list[int], **options) -> list[Request]:
    """One prompt, budgets that differ, temperatures too."""
    return [Request(s, prompt, 2 + 5 * s % 17, (1.0, 0.7, 0.0)[s % 3], **options) for s in sessions]


def play(engine: TorchEngine, asked: list[Request], turns: int = 2) -> dict[tuple[int, int], Completion]:
    """Answers by session and turn; conversations go on, and are closed after their last turn."""
    said: dict[tuple[int, int], Completion] = {}
    for request in asked:
        engine.submit(request)
    while completions := engine.step():
        for completion in completions:
            turn = sum((completion.session, earlier) in said for earlier in range(turns))
            said[completion.session, turn] = completion
            if turn + 1 < turns:
                engine.submit(Request(completion.session, prompt_of(completion.session, 1 + completion.session % 4), 6))
            else:
                engine.close(completion.session)
    return said


def same(one: dict, other: dict) -> None:
    assert {key: completion.ids for key, completion in one.items()} == {k: c.ids for k, c in other.items()}
    for key, completion in one.items():
        assert completion.logps == pytest.approx(other[key].logps, abs=1e-5)
        assert completion.entropies == pytest.approx(other[key].entropies, abs=1e-5)


def two_groups_and_lone_rows() -> list[Request]:
    lone = [Request(100 + number, prompt_of(50 + number, 3 + 12 * number), 9) for number in range(3)]
    return [*group(range(7), prompt_of(1)), lone[0], *group(range(7, 12), prompt_of(2, 33)), *lone[1:]]


@pytest.mark.parametrize("capture", CAPTURES)
@pytest.mark.parametrize("slots", [8, 40])
@pytest.mark.parametrize("kind", ["small", "gemma"])
def test_samples_are_those_of_copied_prompts(small, gemma, kind, slots, capture):
    # Rows finish at different times; with eight slots members come later, when a row is free.
    model = small.model if kind == "small" else gemma
    asked = two_groups_and_lone_rows()
    engine = engine_of(model, 8, slots, capture)
    expected = play(engine_of(model, NEVER, slots), asked)
    assert len(expected) == 2 * len(asked)
    same(play(engine, asked), expected)
    assert engine._prompts.members == 0
