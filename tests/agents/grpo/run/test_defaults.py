"""Defaults that follow the model, from its configuration alone."""

from __future__ import annotations

import json

import pytest
from palaestra.agents.grpo import configure
from palaestra.agents.grpo.config import TrainConfig
from palaestra.agents.grpo.run import defaults
from palaestra.agents.grpo.run.defaults import (
    choose_defaults,
    choose_prompt_form,
    describe_defaults,
    precision_notices,
    take_open_values,
)
from palaestra.errors import InputError


@pytest.fixture(scope="module")
def large(tmp_path_factory) -> str:
    """The configuration of a model of half a billion weights, stored in half precision; there are no weights."""
    from transformers import Qwen2Config

    folder = tmp_path_factory.mktemp("large")
    shape = {"hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24, "num_attention_heads": 14}
    Qwen2Config(
        **shape,
        num_key_value_heads=2,
        vocab_size=151936,
        max_position_embeddings=32768,
        tie_word_embeddings=True,
        dtype="bfloat16",
    ).save_pretrained(folder)
    return str(folder)


def test_a_large_model_gets_the_rates_and_budgets_of_published_runs(large):
    chosen = choose_defaults(large, device="cpu")
    assert chosen.parameters == 494_032_768
    assert chosen.values == {
        "lr": 1e-6,
        "max_new_tokens": 1024,
        "max_episode_tokens": 4096,
        "context": 4096,
        "dtype": "float32",
    }
    assert choose_defaults(large, lora=16, device="cpu").values["lr"] == pytest.approx(1e-5)
    assert choose_defaults(large, device="cuda").values["dtype"] == "bfloat16"


def test_a_model_that_a_cpu_can_train_learns_faster_and_answers_shortly_there(tmp_path):
    from transformers import LlamaConfig

    # The shape of SmolLM2-135M.
    LlamaConfig(
        hidden_size=576,
        intermediate_size=1536,
        num_hidden_layers=30,
        num_attention_heads=9,
        num_key_value_heads=3,
        vocab_size=49152,
        max_position_embeddings=8192,
        tie_word_embeddings=True,
    ).save_pretrained(tmp_path)
    chosen = choose_defaults(str(tmp_path), device="cpu")
    assert chosen.parameters == 134_515_008
    assert (chosen.values["lr"], chosen.values["max_new_tokens"], chosen.values["context"]) == (5e-6, 64, 4096)
    assert chosen.reasons["max_new_tokens"] == "what a CPU can bear"
    assert choose_defaults(str(tmp_path), device="cuda").values["max_new_tokens"] == 1024


def test_a_small_model_is_trained_like_the_tiny_one_within_its_positions(small, tmp_path):
    small.model.config.save_pretrained(tmp_path)
    tiny = TrainConfig()
    chosen = choose_defaults(str(tmp_path))
    assert {name: getattr(tiny, name) for name in chosen.values} == {**chosen.values}
    small.model.config.__class__(**{**small.model.config.to_dict(), "max_position_embeddings": 96}).save_pretrained(
        tmp_path
    )
    assert choose_defaults(str(tmp_path)).values["context"] == 96


def test_options_win_and_the_sentence_says_which_were_chosen(large):
    config = configure(large, lr=1e-4, steps=3)
    assert (config.model, config.lr, config.steps, config.max_new_tokens) == (large, 1e-4, 3, 1024)
    sentence = describe_defaults(config)
    assert "has 494,032,768 parameters" in sentence
    assert "max_new_tokens 1024 (room for a worked answer)" in sentence
    assert sentence.endswith("set otherwise: lr 0.0001 (by default 1e-06).")
    assert configure("tiny", steps=3) == TrainConfig(steps=3)


def test_what_is_no_model_is_refused(tmp_path):
    with pytest.raises(InputError, match="a folder without a model"):
        choose_defaults(str(tmp_path))


def test_models_of_characters_are_asked_tersely_and_others_in_sentences(small, large, tmp_path):
    small.save(tmp_path / "small")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "tokenizer.json").write_text("{")
    forms = {"tiny": "terse", str(tmp_path / "small"): "terse", large: "sentences", "owner/name": "sentences"}
    forms[str(tmp_path / "broken")] = "sentences"
    assert {model: choose_prompt_form(TrainConfig(model=model)) for model in forms} == forms
    assert choose_prompt_form(TrainConfig(env_options={"prompt": "sentences"})) == "sentences"
    assert choose_prompt_form(TrainConfig(model=large, prompt_form="terse")) == "terse"
    # The column of a data set.
    assert choose_prompt_form(TrainConfig(env_options={"prompt": "task"})) == "terse"


@pytest.mark.parametrize(("stored", "form"), [({}, "terse"), ({"prompt_form": "sentences"}, "sentences")])
def test_a_run_that_goes_on_from_another_one_is_asked_as_that_was(tmp_path, stored, form):
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "config.json").write_text(json.dumps({"env": "palaestra/Arithmetic-v0", **stored}))
    assert choose_prompt_form(TrainConfig(model=str(tmp_path))) == form
    assert TrainConfig.from_json({"env": "palaestra/Arithmetic-v0", **stored}).prompt_form == form


def test_what_is_left_open_is_taken_from_the_run():
    saved = TrainConfig(threads=2, device="cpu", prompt_form="terse")
    assert take_open_values(TrainConfig(), saved) == saved
    mine = TrainConfig(threads=1, device="cuda", prompt_form="sentences")
    assert take_open_values(mine, saved) == mine


@pytest.mark.parametrize(("cost", "fast"), [(0.4, True), (1.3, False)])
def test_half_precision_on_a_processor_that_multiplies_it_slowly_is_said_to_be_slow(large, monkeypatch, cost, fast):
    monkeypatch.setattr(defaults, "bfloat16_cost", lambda: cost)
    found = precision_notices(TrainConfig(dtype="bfloat16", device="cpu"))
    assert len(found) == (not fast)
    assert all("1.3 times as long" in sentence for sentence in found)
    assert precision_notices(TrainConfig(device="cpu")) == precision_notices(
        TrainConfig(dtype="bfloat16", device="cuda")
    )
    reason = choose_defaults(large, device="cpu").reasons["dtype"]
    assert ("multiplies faster" in reason) == fast
    assert ("gains nothing" in reason) != fast
