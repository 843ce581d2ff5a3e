"""The weights and the configuration that other engines load."""

from __future__ import annotations

import copy

import pytest
import torch
from palaestra.agents.engines.checkpoint import (
    adapter_rank,
    checkpoint_weights,
    vocabulary_of,
    write_adapters,
    write_config,
)
from palaestra.agents.language.model import LanguageModel
from safetensors.torch import save_file

IDS = torch.tensor([[7, 20, 9, 33, 8]])


@pytest.fixture
def padded(small):
    """A model with 3 rows more than its tokenizer has ids, the output matrix tied to the embeddings."""
    model = copy.deepcopy(small.model)
    model.resize_token_embeddings(len(small.tokenizer) + 3)
    return LanguageModel.of(model, small.tokenizer)


def reload(language, folder):
    from transformers import AutoModelForCausalLM

    write_config(language, folder)
    weights = {name: tensor.clone().contiguous() for name, tensor in checkpoint_weights(language).items()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return AutoModelForCausalLM.from_pretrained(folder, dtype="float32").eval()


@torch.no_grad()
def test_what_is_written_is_the_policy_without_ids_that_the_tokenizer_lacks(padded, tmp_path):
    loaded, count = reload(padded, tmp_path), len(padded.tokenizer)
    assert vocabulary_of(padded) == count == loaded.config.vocab_size
    assert not loaded.config.tie_word_embeddings
    assert len(loaded.lm_head.weight) == len(loaded.get_input_embeddings().weight) == count
    assert torch.allclose(loaded(IDS).logits, padded.model(IDS).logits[..., :count], atol=1e-5)


@torch.no_grad()
def test_adapters_are_merged_and_the_policy_stays_as_it_is(small, tmp_path):
    adapted = LanguageModel.of(copy.deepcopy(small.model), small.tokenizer).with_lora(2, seed=1)
    for weight in adapted.model.parameters():
        if weight.requires_grad:
            weight.normal_(generator=torch.Generator().manual_seed(1))
    before = {name: tensor.clone() for name, tensor in adapted.model.state_dict().items()}
    loaded = reload(adapted, tmp_path)
    assert not any("lora" in name for name in checkpoint_weights(adapted))
    expected = adapted.model(IDS).logits
    assert (expected - small.model(IDS).logits).abs().max() > 0.1
    assert torch.allclose(loaded(IDS).logits, expected, atol=1e-4)
    assert all(torch.equal(tensor, before[name]) for name, tensor in adapted.model.state_dict().items())


@torch.no_grad()
def test_adapters_are_written_beside_weights_without_them(small, tmp_path):
    adapted = LanguageModel.of(copy.deepcopy(small.model), small.tokenizer).with_lora(3, alpha=12, seed=1)
    for weight in adapted.model.parameters():
        if weight.requires_grad:
            weight.normal_(generator=torch.Generator().manual_seed(1))
    expected = adapted.model(IDS).logits
    base = {name: tensor.clone() for name, tensor in checkpoint_weights(adapted, merge=False).items()}
    assert all(torch.equal(base[name], tensor) for name, tensor in checkpoint_weights(small).items())
    assert adapter_rank(adapted) == adapter_rank(adapted.copy()) == 3
    write_adapters(adapted, tmp_path / "adapters")
    again = LanguageModel.of(copy.deepcopy(small.model), small.tokenizer).with_adapters(tmp_path / "adapters")
    assert torch.allclose(again.model(IDS).logits, expected, atol=1e-5)


@pytest.mark.filterwarnings("ignore::FutureWarning")  # peft asks transformers by a name that is to be dropped
def test_adapters_that_only_the_weights_can_take_up_have_no_rank(small):
    import peft

    assert adapter_rank(small) is None
    model = peft.get_peft_model(copy.deepcopy(small.model), peft.LoraConfig(r=2, use_dora=True))
    assert adapter_rank(LanguageModel.of(model.base_model.model, small.tokenizer)) is None
    model = peft.get_peft_model(copy.deepcopy(small.model), peft.LoraConfig(r=2, rank_pattern={"q_proj": 4}))
    assert adapter_rank(LanguageModel.of(model.base_model.model, small.tokenizer)) is None
