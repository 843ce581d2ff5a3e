"""The weights of the policy between the updates and the engine: copies, versions and their place."""

from __future__ import annotations

import copy
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from palaestra.agents.grpo.collection import policy_weights
from palaestra.agents.grpo.collection.policy_weights import (
    copy_policy,
    place_of_versions,
    played_version,
    separate_models,
    set_weights,
    trained_weights,
)
from palaestra.agents.language.adapters import BaseOnly
from palaestra.agents.language.model import LanguageModel


@pytest.mark.parametrize("lora", [0, 2])
def test_a_copy_of_a_policy_shows_engines_the_same_trained_weights_and_can_be_given_others(small, lora):
    language = LanguageModel.of(copy.deepcopy(small.model), small.tokenizer)
    if lora:
        pytest.importorskip("peft")
        language = language.with_lora(lora)
    copied, before = copy_policy(language), trained_weights(language)
    trained = [
        [name for name, weight in each.model.named_parameters() if weight.requires_grad] for each in (language, copied)
    ]
    assert trained[0] == trained[1] == list(before)
    assert not {weight.data_ptr() for weight in language.model.parameters()} & {
        weight.data_ptr() for weight in copied.model.parameters()
    }
    set_weights(copied, {name: weight + 1 for name, weight in before.items()})
    assert all(torch.equal(weight, before[name]) for name, weight in trained_weights(language).items())
    assert all(torch.equal(weight, before[name] + 1) for name, weight in trained_weights(copied).items())
    if lora:
        assert copied.adapters.get_base_model() is copied.model


@pytest.mark.parametrize("lora", [0, 2])
def test_what_the_update_splits_stays_whole_for_the_collection(small, lora):
    language = LanguageModel.of(copy.deepcopy(small.model), small.tokenizer)
    distilled = copy.deepcopy(small.model)
    if lora:
        pytest.importorskip("peft")
        language = language.with_lora(lora)
    reference = language.reference().model
    played, measured, own = separate_models(language, reference, distilled, splits=True)
    for model in (own, *(() if lora else (reference,))):
        model.to("meta")  # as the update does
    expected = small.model(torch.arange(5)[None]).logits
    for model in (played.model, distilled, measured):
        with model.bare() if isinstance(model, BaseOnly) else nullcontext(model) as whole:
            assert torch.equal(whole(torch.arange(5)[None]).logits, expected)
    assert separate_models(language, None, None, splits=True)[1:] == (None, None)
    assert separate_models(language, reference, distilled, splits=False)[2] is distilled


def test_versions_count_the_updates_before_a_batch():
    assert [played_version(step, 0) for step in (0, 1, 2, 3)] == [0, 0, 1, 2]
    assert [played_version(step, 2) for step in (1, 2, 3, 4, 5)] == [0, 0, 0, 1, 2]


def test_versions_of_small_weights_stay_on_their_gpu(small, monkeypatch):
    weights = [SimpleNamespace(nbytes=1000, requires_grad=True), SimpleNamespace(nbytes=10**9, requires_grad=False)]
    model = SimpleNamespace(device=torch.device("cuda:0"), parameters=lambda: weights)
    language: Any = SimpleNamespace(model=model)
    monkeypatch.setattr(policy_weights, "free_memory", lambda device: 60_000)
    # Three copies of 1,000 bytes are a twentieth of 60,000, four are more.
    assert place_of_versions(language, 1) == torch.device("cuda:0")
    assert place_of_versions(language, 2) == torch.device("cpu")
    assert place_of_versions(small, 1) == torch.device("cpu")
