"""A small Llama with random weights, as a folder and as GGUF files that the tests write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

WIDTH, HIDDEN, LAYERS, HEADS, KV_HEADS = 32, 64, 2, 4, 2
TOKENS = [*("<unk>", "<s>", "</s>"), *(chr(code) for code in range(33, 127)), "Ġ", "Ċ", "12", "ab"]
MERGES = ["1 2", "a b"]
TEMPLATE = "{% for message in messages %}<s>{{ message.content }}</s>{% endfor %}"


def make_llama() -> Any:
    """The model in memory, as transformers has it."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(4)
    config = LlamaConfig(
        vocab_size=len(TOKENS),
        hidden_size=WIDTH,
        intermediate_size=HIDDEN,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=KV_HEADS,
        max_position_embeddings=128,
        rms_norm_eps=1e-6,
        rope_theta=10000.0,
        tie_word_embeddings=True,
        bos_token_id=1,
        eos_token_id=2,
    )
    model = LlamaForCausalLM(config).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.1 * torch.randn_like(weight)
    return model


def write_gguf(
    path: Path,
    model: Any,
    kind: str = "F32",
    architecture: str = "llama",
    template: str | None = TEMPLATE,
    split: str = "smollm",
    leave_out: str = "",
) -> Path:
    """Write a model to a GGUF file.

    Args:
        kind: type of the matrices, "F32" or "Q8_0".
        leave_out: beginning of the names of tensors that are left out.
    """
    import gguf

    writer = gguf.GGUFWriter(path, architecture)
    writer.add_context_length(128)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(10000.0)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(split)
    writer.add_token_list(TOKENS)
    writer.add_token_types([gguf.TokenType.CONTROL] * 3 + [gguf.TokenType.NORMAL] * (len(TOKENS) - 3))
    writer.add_token_merges(MERGES)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    if template is not None:
        writer.add_chat_template(template)
    for name, tensor in _tensors(model).items():
        if leave_out and name.startswith(leave_out):
            continue
        matrix = tensor.ndim == 2 and kind != "F32"
        quantised = gguf.GGMLQuantizationType[kind] if matrix else None
        data = gguf.quantize(tensor, quantised) if quantised is not None else tensor
        writer.add_tensor(name, data, raw_dtype=quantised)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _tensors(model: Any) -> dict[str, np.ndarray]:
    """The weights under llama.cpp's names; the halves of queries and keys are interleaved there."""
    state = {name: weight.detach().float().numpy() for name, weight in model.state_dict().items()}
    tensors = {
        "token_embd.weight": state["model.embed_tokens.weight"],
        "output_norm.weight": state["model.norm.weight"],
    }
    parts = {
        "attn_norm": "input_layernorm",
        "ffn_norm": "post_attention_layernorm",
        "attn_q": "self_attn.q_proj",
        "attn_k": "self_attn.k_proj",
        "attn_v": "self_attn.v_proj",
        "attn_output": "self_attn.o_proj",
        "ffn_gate": "mlp.gate_proj",
        "ffn_up": "mlp.up_proj",
        "ffn_down": "mlp.down_proj",
    }
    for layer in range(LAYERS):
        for there, here in parts.items():
            weight = state[f"model.layers.{layer}.{here}.weight"]
            if there in ("attn_q", "attn_k"):
                heads = HEADS if there == "attn_q" else KV_HEADS
                weight = weight.reshape(heads, 2, -1, WIDTH).swapaxes(1, 2).reshape(weight.shape)
            tensors[f"blk.{layer}.{there}.weight"] = np.ascontiguousarray(weight)
    return tensors
