"""Every architecture on flat tokens against its own plain forward pass; random weights, as tiny as they build."""

from __future__ import annotations

import copy
import random
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from palaestra.agents.engines.sampler import Request
from palaestra.agents.engines.torch_engine import TorchEngine
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.logprobs import token_logps
from palaestra.agents.grpo.batch.packing import PACKERS
from palaestra.agents.grpo.batch.trajectory import Group, Trajectory, Turn
from palaestra.agents.language.attention import attend_causally
from palaestra.agents.language.decoder import (
    attention_shape,
    check_model,
    context_limit,
    has_own_forward,
    hidden_states,
)
from palaestra.agents.language.head import head_of
from palaestra.errors import InputError

SIZES = {
    "vocab_size": 101,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 128,
    "bos_token_id": None,
    "eos_token_id": None,
    "pad_token_id": None,
}
GEMMA = {"sliding_window": 4, "query_pre_attn_scalar": 32}
# Windows are shorter than the conversations, softcaps low enough to bend, scales not 1.
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("llama", {"tie_word_embeddings": False, "attention_bias": True, "mlp_bias": True}),
    "llama-gelu": ("llama", {"hidden_act": "gelu"}),
    "qwen2": ("qwen2", {"tie_word_embeddings": True}),
    "qwen2-window": ("qwen2", {"use_sliding_window": True, "sliding_window": 5, "max_window_layers": 1}),
    "qwen3": ("qwen3", {}),
    "gpt2": ("gpt2", {"scale_attn_by_inverse_layer_idx": True}),
    "mistral-window": ("mistral", {"sliding_window": 4}),
    "mixtral": ("mixtral", {"num_local_experts": 4}),
    "gemma2": ("gemma2", {**GEMMA, "attn_logit_softcapping": 0.5, "final_logit_softcapping": 2.0}),
    "gemma3": ("gemma3_text", GEMMA),
    "phi": ("phi", {"num_key_value_heads": 4}),
    "phi3": ("phi3", {}),
    "gpt_neox": ("gpt_neox", {}),
    "opt": ("opt", {"ffn_dim": 48, "word_embed_proj_dim": 32}),
    "cohere": ("cohere", {"logit_scale": 0.4}),
    "granite": ("granite", {"logits_scaling": 3.0, "attention_multiplier": 0.2, "residual_multiplier": 0.5}),
    "olmo2": ("olmo2", {}),
    "deepseek": (
        "deepseek_v3",
        {
            "num_key_value_heads": 4,
            "n_group": 1,
            "topk_group": 1,
            "n_routed_experts": 4,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 16,
            "kv_lora_rank": 16,
            "q_lora_rank": 16,
            "qk_rope_head_dim": 8,
            "qk_nope_head_dim": 8,
            "v_head_dim": 8,
        },
    ),
}
FOREIGN = ("gpt2", "mistral-window", "gemma2", "phi")


@lru_cache
def build(name: str) -> Any:
    """The model, with every weight (biases too, which begin at zero) moved at random."""
    return build_with(*MODELS[name])


def build_with(kind: str, changes: dict[str, Any]) -> Any:
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(1)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **{**SIZES, **changes})).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.1 * torch.randn_like(weight)
    return model


@pytest.fixture(scope="module")
def ragged() -> Any:
    """A batch of seven episodes in two groups, each group with a prompt of its own; one to three turns."""
    rng = random.Random(7)

    def some(low: int, high: int) -> tuple[int, ...]:
        return tuple(rng.choices(range(5, 100), k=rng.randint(low, high)))

    def turn(observed: tuple[int, ...]) -> Turn:
        acted = some(1, 6)
        return Turn(observed, acted, (-1.0,) * len(acted), "stop", 0.0)

    groups = []
    for number, size in enumerate((4, 3)):
        prompt = some(7, 9)
        made = [(turn(prompt), *(turn(some(1, 4)) for _ in range(rng.randint(0, 2)))) for _ in range(size)]
        groups.append(
            Group(
                number,
                tuple(
                    Trajectory(
                        task_id="t",
                        params={},
                        difficulty=0.0,
                        turns=turns,
                        success=False,
                        progress=0.0,
                        truncated=False,
                        valid=True,
                        max_tokens=20,
                    )
                    for turns in made
                ),
            )
        )
    return collate(groups)


def scores(model: Any, batch: Any, packer: str, checkpoint: bool = False) -> torch.Tensor:
    """Log-probability of every action token of the batch, [N], through packed micro-batches."""
    got = torch.zeros(len(batch.ids), dtype=torch.float64)
    for micro in PACKERS[packer](batch, range(batch.episodes), 60):
        hidden = hidden_states(model, micro.ids, micro.positions, micro.attend, checkpoint=checkpoint)
        logp, _ = token_logps(hidden.index_select(0, micro.source), head_of(model), micro.targets)
        got = got.index_add(0, micro.scored, logp.double())
    return got


def plain_scores(model: Any, batch: Any) -> torch.Tensor:
    """The same, one row at a time through transformers."""
    got = torch.zeros(len(batch.ids), dtype=torch.float64)
    for row in range(batch.rows):
        place = (batch.row_of == row).nonzero()[:, 0]
        ids = batch.ids[place]
        logps = model(ids[None]).logits[0, :-1].double().log_softmax(-1).gather(-1, ids[1:, None])[:, 0]
        acted = batch.action[place].nonzero()[:, 0]
        got = got.index_add(0, place[acted], logps[acted - 1])
    return got


@pytest.mark.parametrize("packer", ["plain", "shared_prefix"])
@pytest.mark.parametrize("name", MODELS)
def test_packed_scores_equal_the_models_own_row_by_row(ragged, name, packer):
    model = build(name)
    with torch.no_grad():
        assert (scores(model, ragged, packer) - plain_scores(model, ragged)).abs().max() < 1e-4


def converse(engine: TorchEngine, sessions: int, temperature: float) -> dict[int, tuple[list[int], Any]]:
    """Conversations of two turns at once; for each its ids, and where in them each completion begins."""
    history: dict[int, list[int]] = {session: [] for session in range(sessions)}
    starts: dict[int, list[tuple[int, Any]]] = {session: [] for session in range(sessions)}
    for observed in ([5, 9, 13], [40, 41]):
        for session, ids in history.items():
            said = [*observed, *range(50, 50 + session)]
            ids += said
            engine.submit(Request(session, said, 6, temperature))
        while completions := engine.step():
            for completion in completions:
                starts[completion.session].append((len(history[completion.session]), completion))
                history[completion.session] += completion.ids
    return {session: (history[session], starts[session]) for session in history}


@pytest.mark.parametrize("name", MODELS)
def test_sampled_log_probabilities_equal_a_rescoring(name):
    # The second turn attends over what the cache holds; prompts of different length are padded together.
    model, vocabulary = build(name), 90
    for ids, turns in converse(TorchEngine(model, [], vocabulary, slots=3, max_length=64), 3, 0.7).values():
        with torch.no_grad():
            logps = (model(torch.tensor([ids])).logits[0, :, :vocabulary] / 0.7).log_softmax(-1)
        assert len(turns) == 2
        for start, completion in turns:
            expected = [logps[start - 1 + i, token].item() for i, token in enumerate(completion.ids)]
            assert completion.logps == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("name", ["llama", "qwen2", "qwen3", *FOREIGN])
def test_packed_gradients_equal_the_models_own(ragged, name):
    ours, theirs = copy.deepcopy(build(name)), copy.deepcopy(build(name))
    scores(ours, ragged, "shared_prefix").sum().backward()
    plain_scores(theirs, ragged).sum().backward()
    for (where, a), b in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        assert torch.allclose(a.grad, b.grad, rtol=1e-3, atol=1e-3 * b.grad.abs().max().item()), where


@pytest.mark.parametrize("name", ["qwen3", *FOREIGN])
def test_checkpointing_keeps_less_and_changes_no_gradient(ragged, name):
    kept, gradients = [], []
    for checkpoint in (False, True):
        model, total = copy.deepcopy(build(name)), 0

        def pack(tensor: torch.Tensor) -> torch.Tensor:
            nonlocal total
            total += tensor.numel() * tensor.element_size()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            loss = scores(model, ragged, "plain", checkpoint).sum()
            kept.append(total)
        loss.backward()
        gradients.append([weight.grad for weight in model.parameters()])
        assert model.config._attn_implementation == build(name).config._attn_implementation
    assert kept[1] < 0.5 * kept[0]
    for a, b in zip(*gradients, strict=True):
        assert torch.allclose(a, b, rtol=1e-4, atol=1e-5 * b.abs().max().item())


@pytest.mark.parametrize("name", ["qwen3", "gemma2"])
def test_generating_leaves_no_trace(name):
    # Traps 16 and 17: weights cast or moved, attention left replaced, defaults of torch changed.
    model = build(name)

    def state() -> Any:
        return (
            [(w.data_ptr(), w.dtype, w.device, w.requires_grad, w._version) for w in model.parameters()],
            model.config._attn_implementation,
            model.training,
            torch.get_default_dtype(),
            torch.is_grad_enabled(),
            torch.get_rng_state().tolist(),
        )

    before = state()
    converse(TorchEngine(model, [], 90, slots=2, max_length=64), 2, 1.0)
    assert state() == before


@pytest.mark.parametrize("name", ["qwen3", "gemma2"])
def test_a_half_precision_model_samples_what_its_learner_scores(name):
    model = copy.deepcopy(build(name)).bfloat16()
    gaps = []
    for ids, turns in converse(TorchEngine(model, [], 101, slots=3, max_length=64), 3, 1.0).values():
        flat = torch.tensor(ids)
        with torch.no_grad():
            hidden = hidden_states(model, flat, torch.arange(len(ids)), attend_causally([len(ids)]))
            logp, _ = token_logps(hidden[:-1], head_of(model), flat[1:])
        for start, completion in turns:
            gaps += [abs(logp[start - 1 + i].item() - x) for i, x in enumerate(completion.logps)]
    # Rounding alone: bfloat16 keeps 8 bits, and logits here are of the order of 1 to 10.
    assert sum(gaps) / len(gaps) < 0.02
    assert {weight.dtype for weight in model.parameters()} == {torch.bfloat16}


@pytest.mark.parametrize(
    ("kind", "changes", "reason"),
    [
        ("bloom", {"n_head": 4}, "does not go through transformers' attention interface"),
        ("mamba", {}, "layers of type linear_attention"),
        ("jamba", {}, "layers of type linear_attention"),
        ("gpt_oss", {"num_local_experts": 4}, "takes s_aux, which flat tokens cannot honour"),
        ("llama4_text", {}, "layers of type chunked_attention"),
        (
            "llama",
            {"rope_parameters": {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 1e4}},
            "change with the longest sequence",
        ),
    ],
)
def test_a_model_that_cannot_be_run_exactly_is_refused_with_the_reason(kind, changes, reason):
    from transformers import AutoConfig, AutoModelForCausalLM

    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **{**SIZES, **changes}))
    with pytest.raises(InputError, match=reason):
        check_model(model)


PHIMOE = {"num_local_experts": 4, "sliding_window": 7}
QWEN2_MOE: dict[str, Any] = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
QWEN2_MOE |= {"shared_expert_intermediate_size": 16, "use_sliding_window": True, "max_window_layers": 1}


@pytest.mark.parametrize("window", [5, 7, 16, 36, 64, 65, 100])
@pytest.mark.parametrize("kind", ["phimoe", "qwen2_moe"])
def test_a_window_that_a_model_keeps_from_its_attention_call_is_met_however_long_it_is(kind, window):
    changes = {**(PHIMOE if kind == "phimoe" else QWEN2_MOE), "sliding_window": window}
    with pytest.raises(InputError, match=f"past its window of {window} tokens.*max_position_embeddings to {window} "):
        check_model(build_with(kind, changes))


@pytest.mark.parametrize(
    ("kind", "changes"),
    [("phimoe", {**PHIMOE, "sliding_window": None}), ("qwen2_moe", {**QWEN2_MOE, "use_sliding_window": False})],
)
def test_the_same_models_are_accepted_with_their_windows_turned_off(kind, changes):
    check_model(build_with(kind, changes))


@pytest.mark.parametrize("window", [128, 4096])
def test_a_window_that_no_conversation_outgrows_is_no_hindrance(window):
    model = build_with("phimoe", {**PHIMOE, "sliding_window": window})
    check_model(model)


@pytest.mark.parametrize("window", [7, 36, 100])
@pytest.mark.parametrize("kind", ["mistral", "gemma2", "gemma3_text", "phi3", "qwen2", "cohere2", "olmo3"])
def test_a_window_that_is_honoured_is_accepted_and_left_as_it_was(kind, window):
    from palaestra.agents.language.windows import window_lengths

    changes = {**GEMMA, "sliding_window": window}
    if kind == "qwen2":
        changes |= {"use_sliding_window": True, "max_window_layers": 1}
    model = build_with(kind, changes)
    check_model(model)
    assert window_lengths(model.config) == {"sliding_window": window}
    layers = [vars(module)["sliding_window"] for module in model.modules() if "sliding_window" in vars(module)]
    assert set(layers) <= {window, None}
    ids = torch.arange(1, 101)
    with torch.no_grad():
        ours = head_of(model).logits(hidden_states(model, ids, torch.arange(100), attend_causally([100])))
        theirs = model(ids[None]).logits[0]
    torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-3)


def test_a_model_whose_logits_come_out_otherwise_is_refused(monkeypatch):
    # The last guard: here the output of the model has a factor that its configuration does not tell.
    model = copy.deepcopy(build("gpt2"))
    model.lm_head.register_forward_hook(lambda module, args, out: out * 1.5)
    with pytest.raises(InputError, match=r"off by .* standard deviations"):
        check_model(model)


def test_dropout_is_refused_rather_than_trained_on_unseen():
    model = copy.deepcopy(build("gpt2")).train()
    with pytest.raises(InputError, match=r"has dropout 0\.1; call eval\(\)"):
        hidden_states(model, torch.tensor([5]), torch.tensor([0]), attend_causally([1]))


def test_sizes_of_the_attention_and_the_context_are_read_off_the_model():
    shape = attention_shape(build("gpt2"))
    assert (shape.layers, shape.heads, shape.kv_heads, shape.head_dim) == (2, 4, 4, 8)
    shape = attention_shape(build("qwen3"))
    assert (shape.layers, shape.heads, shape.kv_heads, shape.head_dim) == (2, 4, 2, 8)
    assert context_limit(build("gpt2")) == 128


def test_longrope_models_stop_where_their_frequencies_would_change():
    from transformers import Phi3Config

    rope = {"rope_type": "longrope", "rope_theta": 1e4, "short_factor": [1.0] * 4, "long_factor": [2.0] * 4}
    config = Phi3Config(**SIZES, original_max_position_embeddings=64, rope_parameters=rope)

    assert context_limit(SimpleNamespace(config=config)) == 64


def test_a_llama_with_longrope_runs_its_own_code_and_is_not_captured():
    from transformers import LlamaConfig, LlamaForCausalLM

    rope = {
        "rope_type": "longrope",
        "rope_theta": 1e4,
        "short_factor": [1.5] * 4,
        "long_factor": [2.0] * 4,
        "original_max_position_embeddings": 64,
    }
    config = LlamaConfig(**SIZES, rope_parameters=rope)
    torch.manual_seed(0)
    model = LlamaForCausalLM(config).eval()
    assert not has_own_forward(model)
    assert has_own_forward(build("llama"))
    check_model(model)
    ids = torch.arange(5, 17)
    with torch.no_grad():
        ours = hidden_states(model, ids, torch.arange(12), attend_causally([12]))
        theirs = model.model(ids[None]).last_hidden_state[0]
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
