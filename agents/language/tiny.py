"""The built-in default model: a Qwen3 of 0.8 million parameters, randomly initialised, by default on characters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .tokenizer import character_tokenizer


@dataclass(frozen=True)
class TinyShape:
    """Sizes of the tiny model; ``context`` is its number of positions. The defaults give 0.8M parameters."""

    hidden: int = 128
    layers: int = 4
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 32
    intermediate: int = 384
    context: int = 2048


def tiny_model(seed: int, shape: TinyShape = TinyShape(), tokenizer: Any = None) -> tuple[Any, Any]:
    """Make a randomly initialised ``Qwen3ForCausalLM`` in float32, and return it with its tokenizer.

    The weights depend only on ``seed``, shape and vocabulary; torch's global generator is not changed. ``tokenizer``
    None: the character tokenizer.
    """
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    tokenizer = character_tokenizer() if tokenizer is None else tokenizer
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=shape.hidden,
        intermediate_size=shape.intermediate,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        head_dim=shape.head_dim,
        max_position_embeddings=shape.context,
        tie_word_embeddings=True,
        attention_dropout=0.0,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        dtype="float32",
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Qwen3ForCausalLM(config)
    return model.eval(), tokenizer
