"""GGUF files against the same weights in memory, and those that cannot be read."""

from __future__ import annotations

import pytest
import torch
from palaestra.agents.language.gguf_file import convert_gguf, measure_weights
from palaestra.errors import InputError

from .gguf_models import TOKENS, make_llama, write_gguf  # isort: skip

IDS = torch.tensor([[5, 40, 7, 96, 99, 12]])


@pytest.fixture(scope="module")
def llama():
    return make_llama()


@pytest.fixture(scope="module")
def converted(llama, tmp_path_factory):
    """``converted(kind)``: the folder of the model from a file whose matrices are of this kind."""
    made = {}

    def convert(kind):
        if kind not in made:
            folder = tmp_path_factory.mktemp(kind)
            seen = []
            convert_gguf(write_gguf(folder / "m.gguf", llama, kind), folder / "model", lambda *args: seen.append(args))
            assert seen[0][0] == 0
            assert seen[-1] == (20, 20)  # 9 tensors of each of 2 layers, the embeddings and the last norm
            made[kind] = folder / "model"
        return made[kind]

    return convert


def load(folder):
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)


@torch.no_grad()
def test_single_precision_is_kept_to_the_bit(llama, converted):
    model = load(converted("F32"))
    weights = model.state_dict()
    assert weights.keys() == llama.state_dict().keys()
    assert all(torch.equal(weights[name], weight) for name, weight in llama.state_dict().items())
    assert torch.equal(model(IDS).logits, llama(IDS).logits)


@torch.no_grad()
def test_eight_bits_are_kept_within_their_rounding(llama, converted):
    weights = load(converted("Q8_0")).state_dict()
    for name, weight in llama.state_dict().items():
        if weight.ndim == 1:
            assert torch.equal(weights[name], weight), name
            continue
        # A block of 32 has 127 steps on each side of 0, of a width that is stored in half precision.
        largest = weight.reshape(-1, 32).abs().amax(-1, keepdim=True)
        error = (weights[name] - weight).reshape(-1, 32).abs()
        assert (error <= largest * (0.5 / 127 + 2**-11)).all(), name
        assert error.max() > 0


def test_the_saved_model_is_a_plain_one(converted):
    config = load(converted("Q8_0")).config
    assert getattr(config, "quantization_config", None) is None
    assert (config.vocab_size, config.eos_token_id, config.rope_parameters["rope_theta"]) == (len(TOKENS), 2, 10000.0)


def test_digits_are_split_as_the_file_says(llama, converted, tmp_path):
    from transformers import AutoTokenizer

    tokens = AutoTokenizer.from_pretrained(converted("F32")).tokenize("ab  12")
    assert tokens == ["ab", "Ġ", "Ġ", "1", "2"]
    convert_gguf(write_gguf(tmp_path / "m.gguf", llama, split="gpt-2"), tmp_path / "model")
    assert AutoTokenizer.from_pretrained(tmp_path / "model").tokenize("ab12") == ["ab", "12"]


def test_the_weights_are_counted(llama, tmp_path):
    assert measure_weights(write_gguf(tmp_path / "m.gguf", llama)) == llama.num_parameters()


def read(path):
    measure_weights(path)
    convert_gguf(path, path.parent / "model")


def refused(path):
    with pytest.raises(InputError) as caught:
        read(path)
    return str(caught.value)


def test_what_cannot_be_read_is_one_sentence(llama, tmp_path):
    path = tmp_path / "m.gguf"
    assert "has the architecture 'rwkv7', which transformers cannot read" in refused(
        write_gguf(path, llama, architecture="rwkv7")
    )
    assert "splits text by the rules 'chatglm-bpe'" in refused(write_gguf(path, llama, split="chatglm-bpe"))
    assert "lacks 1 weights of a llama, such as model.layers.1.mlp.down_proj.weight" in refused(
        write_gguf(path, llama, leave_out="blk.1.ffn_down")
    )
    whole = write_gguf(path, llama).read_bytes()
    for damaged in (b"", b"no model", whole[:8], whole[:100], whole[:2000], whole[: len(whole) // 2]):
        path.write_bytes(damaged)
        assert "is no GGUF file, or a damaged one" in refused(path), len(damaged)
    for name in (b"tokenizer.ggml.tokens", b"tokenizer.ggml.token_type"):
        # Behind the name are the type of the value and of its elements, then their number.
        place = whole.index(name + b"\x09") + len(name) + 8
        path.write_bytes(whole[:place] + (2**60).to_bytes(8, "little") + whole[place + 8 :])
        assert "is no GGUF file, or a damaged one" in refused(path), name


def test_quantisations_that_cannot_be_read_are_named(llama, tmp_path, monkeypatch):
    import gguf

    def refuse(data, kind):
        raise NotImplementedError

    path = write_gguf(tmp_path / "m.gguf", llama, "Q8_0")
    monkeypatch.setattr(gguf, "dequantize", refuse)
    assert "which cannot be dequantised; take a file of Q4_K_M, Q8_0, F16 or F32." in refused(path)
