"""Low-rank adapters: what they change, what they leave, and how they are kept."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from palaestra.agents.engines.sampler import Request
from palaestra.agents.grpo.batch.logprobs import token_logps
from palaestra.agents.language.attention import attend_causally
from palaestra.agents.language.decoder import hidden_states
from palaestra.agents.language.head import head_of
from palaestra.agents.language.model import LanguageModel
from palaestra.errors import BaseModelError, InputError

from ...extras import needs

pytestmark = needs("peft")
IDS = torch.tensor([5, 9, 13, 40, 41, 7, 8, 30])


def logps(model: Any) -> torch.Tensor:
    hidden = hidden_states(model, IDS, torch.arange(len(IDS)), attend_causally([len(IDS)]))
    return token_logps(hidden[:-1], head_of(model), IDS[1:])[0]


def gpt2(tokenizer: Any) -> LanguageModel:
    """An architecture that runs its own code, with layers that are not ``nn.Linear``."""
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=101, n_embd=32, n_layer=2, n_head=4, n_positions=64, bos_token_id=None, eos_token_id=None
    )
    return LanguageModel.of(GPT2LMHeadModel(config).eval(), tokenizer)


@pytest.fixture(params=["qwen3", "gpt2"])
def language(request, small) -> LanguageModel:
    if request.param == "gpt2":
        return gpt2(small.tokenizer)
    return LanguageModel(copy.deepcopy(small.model), small.tokenizer, small.renderer)


def train(language: LanguageModel, steps: int = 3) -> None:
    """Push up the likelihood of IDS, by the trained weights alone."""
    trained = [weight for weight in language.model.parameters() if weight.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=1.0)
    for _ in range(steps):
        (-logps(language.model).mean()).backward()
        optimizer.step()
        optimizer.zero_grad()


def test_fresh_adapters_change_no_log_probability(language):
    before = logps(language.model)
    adapted = language.with_lora(rank=4)
    assert torch.equal(logps(adapted.model), before)


def test_only_adapters_get_gradients(language):
    adapted = language.with_lora(rank=4)
    logps(adapted.model).sum().backward()
    with_gradient = {name for name, weight in adapted.model.named_parameters() if weight.grad is not None}
    trained = {name for name, weight in adapted.model.named_parameters() if weight.requires_grad}
    assert with_gradient == trained != set()
    assert all("lora_" in name for name in trained)


def test_the_reference_is_the_base_and_stays_as_it_was(language):
    before = logps(language.model).detach()
    adapted = language.with_lora(rank=4)
    reference = adapted.reference()
    train(adapted)
    assert (logps(adapted.model).mean() - before.mean()).item() > 0.05
    assert torch.equal(logps(reference.model), before)
    # Looking at it leaves the policy's adapters on and trained.
    assert not logps(reference.model).requires_grad
    assert logps(adapted.model).requires_grad
    assert (logps(adapted.model).mean() - before.mean()).item() > 0.05


def test_the_reference_shares_every_weight_with_the_policy(language):
    adapted = language.with_lora(rank=4)
    ours = {weight.data_ptr() for weight in adapted.model.parameters()}
    assert {weight.data_ptr() for weight in adapted.reference().model.parameters()} == ours
    # Without adapters there is nothing to switch off: the reference is a copy.
    plain = LanguageModel(copy.deepcopy(language.model), language.tokenizer, language.renderer)
    assert not {w.data_ptr() for w in plain.reference().model.parameters()} & {
        w.data_ptr() for w in plain.model.parameters()
    }


def test_the_engine_samples_with_the_adapters_on(language):
    adapted = language.with_lora(rank=4)
    train(adapted)
    engine = adapted.engine(slots=1, max_length=32)
    engine.submit(Request(0, IDS[:1].tolist(), 0, forced=IDS[1:].tolist()))
    (completion,) = engine.step()
    assert completion.logps == pytest.approx(logps(adapted.model).tolist(), abs=1e-4)


def test_saved_adapters_come_back_on_top_of_their_model(language, tmp_path):
    language.save(tmp_path / "base")
    adapted = LanguageModel.load(tmp_path / "base").with_lora(rank=4)
    train(adapted)
    adapted.save(tmp_path / "adapters")
    assert not (tmp_path / "adapters" / "model.safetensors").exists()
    again = LanguageModel.load(tmp_path / "adapters")
    assert torch.equal(logps(again.model), logps(adapted.model))
    assert {n for n, w in again.model.named_parameters() if w.requires_grad} == {
        n for n, w in adapted.model.named_parameters() if w.requires_grad
    }
    assert torch.equal(logps(again.reference().model), logps(adapted.reference().model))


def test_a_model_that_was_made_in_memory_is_saved_with_its_adapters(language, tmp_path):
    adapted = language.with_lora(rank=4)
    train(adapted)
    adapted.save(tmp_path)
    assert torch.allclose(logps(LanguageModel.load(tmp_path).model), logps(adapted.model), atol=1e-6)


@pytest.fixture
def adapted(small, tmp_path, monkeypatch):
    """A folder of adapters that were trained on the model ./base."""
    monkeypatch.chdir(tmp_path)
    small.save(tmp_path / "base")
    LanguageModel.load("base").with_lora(rank=2).save(tmp_path / "adapted")
    return tmp_path / "adapted"


def test_adapters_find_their_model_from_any_directory_and_know_its_weights(adapted, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    again = LanguageModel.load(adapted)
    again.save(tmp_path / "again")
    assert (tmp_path / "again" / "base_model.json").read_text() == (adapted / "base_model.json").read_text()
    assert LanguageModel.load(adapted, "bfloat16").adapters is not None  # another type is not compared
    base = LanguageModel.load(tmp_path / "base")
    with torch.no_grad():
        next(iter(base.model.parameters())).view(-1)[7] += 1e-3
    base.save(tmp_path / "base")
    with pytest.raises(BaseModelError, match=f"the weights of '{tmp_path}/base' are no longer those"):
        LanguageModel.load(adapted)


def test_a_model_below_adapters_that_is_gone_is_named_with_the_remedy(adapted, tmp_path):
    (tmp_path / "base").rename(tmp_path / "moved")
    with pytest.raises(
        BaseModelError, match=f"the model '{tmp_path}/base', which .* put it back, or write its new place"
    ):
        LanguageModel.load(adapted)
    config = adapted / "adapter_config.json"
    config.write_text(config.read_text().replace(f"{tmp_path}/base", f"{tmp_path}/moved"))
    assert LanguageModel.load(adapted).adapters is not None


def test_a_merged_model_says_the_same_without_adapters(language, tmp_path):
    adapted = language.with_lora(rank=4)
    train(adapted)
    adapted.save(tmp_path, merge=True)
    merged = LanguageModel.load(tmp_path)
    assert merged.adapters is None
    assert torch.allclose(logps(merged.model), logps(adapted.model), atol=1e-5)
    assert adapted.adapters is not None
    assert logps(adapted.model).requires_grad


def test_adapters_of_half_precision_models_are_single_precision(small, tmp_path):
    small.save(tmp_path)
    adapted = LanguageModel.load(tmp_path, dtype="bfloat16").with_lora(rank=4)
    kinds = {(weight.requires_grad, weight.dtype) for weight in adapted.model.parameters()}
    assert kinds == {(True, torch.float32), (False, torch.bfloat16)}
    logps(adapted.model).sum().backward()


def test_a_seed_gives_the_same_adapters_and_leaves_the_global_generator_alone(small):
    made = []
    before = torch.get_rng_state()
    for seed in (1, 1, 2):
        fresh = LanguageModel(copy.deepcopy(small.model), small.tokenizer, small.renderer)
        named = fresh.with_lora(rank=2, seed=seed).model.named_parameters()
        made.append(torch.cat([weight.flatten() for name, weight in named if "lora_A" in name]))
    assert torch.equal(made[0], made[1])
    assert not torch.equal(made[0], made[2])
    assert torch.equal(before, torch.get_rng_state())


def test_dropout_acts_where_gradients_are_recorded_and_nowhere_else(language):
    adapted = language.with_lora(rank=4, dropout=0.5)
    train(adapted, steps=1)
    with torch.no_grad():
        assert torch.equal(logps(adapted.model), logps(adapted.model))
    assert not torch.equal(logps(adapted.model), logps(adapted.model))


def test_what_cannot_carry_adapters_is_refused(small):
    language = LanguageModel(copy.deepcopy(small.model), small.tokenizer, small.renderer)
    with pytest.raises(InputError, match="rank must be at least 1, got 0"):
        language.with_lora(rank=0)
    with pytest.raises(InputError, match=r"dropout must lie in \[0, 1\), got 1"):
        language.with_lora(dropout=1.0)
    with pytest.raises(InputError, match="'lm_head' is an embedding or the output head"):
        language.with_lora(targets=["q_proj", "lm_head"])
    with pytest.raises(InputError, match="cannot be put into"):
        language.with_lora(targets=["no_such_layer"])
    adapted = language.with_lora(targets=["q_proj", "v_proj"])
    with pytest.raises(InputError, match="has adapters already"):
        adapted.with_lora()


def test_a_folder_without_adapters_is_refused(small, tmp_path):
    language = LanguageModel(copy.deepcopy(small.model), small.tokenizer, small.renderer)
    with pytest.raises(InputError, match=r"has no adapter_config\.json"):
        language.with_adapters(tmp_path)


def test_only_known_types_of_weights_are_loaded(small, tmp_path):
    small.save(tmp_path)
    assert next(LanguageModel.load(tmp_path, dtype="bfloat16").model.parameters()).dtype == torch.bfloat16
    with pytest.raises(InputError, match="dtype must be one of float32, bfloat16, got 'int8'"):
        LanguageModel.load(tmp_path, dtype="int8")  # type: ignore[arg-type]
