"""The embedded default: a Qwen3 of about a million parameters, by default on single characters, built from a seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .tokenizer import character_tokenizer


@dataclass(frozen=True)
class TinyShape:
    """Widths and depths; the defaults give 0.8M parameters."""

    hidden: int = 128
    layers: int = 4
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 32
    intermediate: int = 384
    context: int = 2048


def tiny_model(seed: int, shape: TinyShape = TinyShape(), tokenizer: Any = None) -> tuple[Any, Any]:
    """Make a randomly initialised ``Qwen3ForCausalLM`` in float32 and its tokenizer, the character tokenizer if None.

    The weights are a function of ``seed`` alone; torch's global generator is left as it was.
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
