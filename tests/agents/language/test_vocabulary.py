"""Tokenizers with more tokens than the model has rows, and with fewer."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from palaestra.agents.engines.sampler import Request
from palaestra.agents.language.model import LanguageModel
from palaestra.agents.language.tiny import TinyShape, tiny_model
from palaestra.agents.language.tokenizer import character_tokenizer
from palaestra.errors import InputError

SHAPE = TinyShape(hidden=32, layers=1, heads=4, kv_heads=2, head_dim=8, intermediate=48, context=64)


@pytest.fixture
def model() -> Any:
    return tiny_model(0, SHAPE)[0]


def test_added_tokens_that_a_text_can_hold_are_refused_beyond_the_embedding(model):
    tokenizer = character_tokenizer()
    rows = len(tokenizer)
    tokenizer.add_tokens(["<extra0>", "<extra1>"])
    with pytest.raises(InputError, match=f"'<extra0>' has the id {rows}, but the model's embedding has {rows} rows"):
        LanguageModel.of(model, tokenizer)
    model.resize_token_embeddings(rows + 2)
    LanguageModel.of(model, tokenizer)


def test_ordinary_tokens_are_refused_beyond_the_embedding(model):
    model.resize_token_embeddings(90)
    with pytest.raises(InputError, match="embedding has 90 rows"):
        LanguageModel.of(model, character_tokenizer())


def test_special_tokens_beyond_the_embedding_are_never_encoded(model):
    tokenizer = character_tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": ["<obs>", "<act>", "<image>"]})
    assert len(tokenizer) == model.get_input_embeddings().weight.shape[0] + 1
    language = LanguageModel.of(model, tokenizer)
    ids = language.renderer.observation("see <image>", first=True)
    assert max(ids) < len(tokenizer) - 1
    engine = language.engine(slots=1, max_length=64)
    engine.submit(Request(0, ids, 4))
    assert engine.step()


@pytest.mark.parametrize("template", ["{{ '<im>' }}", "{% if not add_generation_prompt %}<im>{% endif %}"])
def test_special_tokens_that_the_chat_template_writes_are_refused_beyond_the_embedding(model, template):
    tokenizer = character_tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": ["<im>"]})
    tokenizer.get_vocab = lambda: {"<im>": 101}
    tokenizer.chat_template = "{% for m in messages %}[{{ m.content }}]{% endfor %}<end>" + template
    if "not" in template:
        tokenizer.chat_template = (
            "{% for m in messages %}[{{ m.content }}]{% if m.role == 'assistant' %}<im>{% endif %}{% endfor %}"
        )
    with pytest.raises(InputError, match="'<im>' has the id 101"):
        LanguageModel.of(model, tokenizer)


def test_an_end_token_beyond_the_embedding_is_refused(model):
    tokenizer = character_tokenizer()
    tokenizer.add_special_tokens({"eos_token": "<over>"})
    with pytest.raises(InputError, match="'<over>' has the id 101"):
        LanguageModel.of(model, tokenizer)


def test_rows_without_a_token_are_never_sampled(model):
    model.resize_token_embeddings(160)
    with torch.no_grad():
        model.get_input_embeddings().weight[101:] = model.get_input_embeddings().weight[:101].mean(0) * 50
    language = LanguageModel.of(model, character_tokenizer())
    engine = language.engine(slots=8, max_length=64)
    for session in range(8):
        engine.submit(Request(session, language.renderer.observation("1+1", first=True), 30, 2.0, seed=session))
    done = []
    while found := engine.step():
        done += found
    assert max(index for completion in done for index in completion.ids) < 101
