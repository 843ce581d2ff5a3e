"""Record the results of TRL's GRPOTrainer on prepared rollouts, for ``tests/agents/grpo/test_trl_parity.py``.

The program runs in an environment that has TRL, so it imports nothing of this package. A real trainer over a Qwen3 of a
few hundred parameters gets its completions from TRL's ``rollout_func``, and computes advantages, old and reference
log-probabilities itself. Then the weights are moved, so that ratios leave the clipping range on both sides, and the
gradient of ``_compute_loss`` is computed. Inputs and results are written to ``vectors.npz``, settings to
``vectors.json``.

    OTHER/bin/python tools/trl_vectors.py --out tests/agents/grpo/trl        # OTHER has trl==1.16.*
"""

from __future__ import annotations

import argparse
import json
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

VOCABULARY = 24
PAD, END = 0, 1
GROUPS, SAMPLES = 4, 4
LENGTH = 12
"""Length of the longest completion, and the constant divisor of Dr. GRPO."""

SHAPE: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 8,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 4,
    "max_position_embeddings": 64,
    "tie_word_embeddings": True,
    "initializer_range": 0.5,
    "bos_token_id": None,
    "eos_token_id": END,
    "pad_token_id": PAD,
    "dtype": "float32",
}

CLIP = {"epsilon": 0.2, "epsilon_high": 0.2}
SEQUENCE = {"importance_sampling_level": "sequence", "epsilon": 0.005, "epsilon_high": 0.02}
"""Sequence ratios with wider bounds than GSPO's published 3e-4 and 4e-4, which no ratio of these rollouts meets."""

CASES: dict[str, dict[str, Any]] = {
    "grpo": {"loss_type": "grpo", **CLIP},
    "grpo_batch_std": {"loss_type": "grpo", "scale_rewards": "batch", **CLIP},
    "grpo_kl": {"loss_type": "grpo", "beta": 0.1, **CLIP},
    "grpo_kl_unweighted": {"loss_type": "grpo", "beta": 0.1, "use_bias_correction_kl": False, **CLIP},
    "grpo_two_sided": {"loss_type": "grpo", "delta": 1.3, **CLIP},
    "grpo_untruncated": {"loss_type": "grpo", "mask_truncated_completions": True, **CLIP},
    "grpo_turns": {"loss_type": "grpo", **CLIP},
    "bnpo": {"loss_type": "bnpo", **CLIP},
    "dr_grpo": {"loss_type": "dr_grpo", "scale_rewards": "none", **CLIP},
    "dapo": {"loss_type": "dapo", "epsilon": 0.2, "epsilon_high": 0.28},
    "dapo_turns": {"loss_type": "dapo", "epsilon": 0.2, "epsilon_high": 0.28},
    "cispo": {"loss_type": "cispo", "epsilon": 0.2, "epsilon_high": 1.15},
    "gspo": {"loss_type": "grpo", **SEQUENCE},
    "sapo": {"loss_type": "sapo", "sapo_temperature_pos": 1.0, "sapo_temperature_neg": 1.05},
    "luspo": {"loss_type": "luspo", **SEQUENCE},
    "vespo": {"loss_type": "vespo"},
}
ACCUMULATED = ("grpo", "bnpo", "dr_grpo", "dapo", "cispo", "gspo", "sapo", "luspo", "vespo")
"""Cases that are recorded a second time with the batch in two micro-batches."""


def rollouts(rng: np.random.Generator, turns: bool) -> dict[str, Any]:
    """Return ragged prompts and completions with rewards, of which one group has no variance.

    With ``turns``, some tokens of each completion are the environment's: "sampled" is 0 for them and 1 for all others.
    """
    prompts, completions, sampled = [], [], []
    for _ in range(GROUPS):
        prompt = rng.integers(2, VOCABULARY, rng.integers(3, 7)).tolist()
        for _ in range(SAMPLES):
            length = int(rng.integers(6 if turns else 3, LENGTH + 1))
            ids = rng.integers(2, VOCABULARY, length).tolist()
            if rng.random() < 0.7:
                ids[-1] = END
            mask = [1] * length
            if turns:
                start, count = int(rng.integers(1, 3)), int(rng.integers(1, 3))
                mask[start : start + count] = [0] * count
            prompts.append(prompt)
            completions.append(ids)
            sampled.append(mask)
    rewards = rng.choice([0.0, 0.25, 0.5, 1.0], GROUPS * SAMPLES)
    rewards[SAMPLES : 2 * SAMPLES] = 0.5
    return {"prompts": prompts, "completions": completions, "sampled": sampled, "rewards": rewards.tolist()}


def tokenizer() -> Any:
    """Return a tokenizer with one word per id, which the trainer needs although no text is tokenized."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {"<pad>": PAD, "<end>": END, **{f"w{i}": i for i in range(2, VOCABULARY)}}
    raw = Tokenizer(models.WordLevel(words, unk_token="w2"))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=raw, pad_token="<pad>", eos_token="<end>")


def move(model: torch.nn.Module, seed: int, scale: float) -> None:
    """Add Gaussian noise to all weights."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(torch.randn(weight.shape, generator=generator), alpha=scale)


def record(settings: dict[str, Any], played: dict[str, Any], parts: int, folder: Path, turns: bool) -> dict[str, Any]:
    """Run the trainer under ``settings`` with the batch in ``parts`` micro-batches, and return its results."""
    from datasets import Dataset
    from transformers import AutoModelForCausalLM
    from trl.trainer.grpo_config import GRPOConfig
    from trl.trainer.grpo_trainer import GRPOTrainer
    from trl.trainer.utils import split_tensor_dict

    rows = GROUPS * SAMPLES

    def rollout(prompts: list[str], trainer: Any) -> dict[str, Any]:
        result = {
            "prompt_ids": played["prompts"],
            "completion_ids": played["completions"],
            "logprobs": [[0.0] * len(ids) for ids in played["completions"]],
        }
        return {**result, "env_mask": played["sampled"]} if turns else result

    def reward(**_: Any) -> list[float | None]:
        return played["rewards"]

    trainer = GRPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(folder / "model", dtype=torch.float32),
        reward_funcs=reward,
        processing_class=tokenizer(),
        train_dataset=Dataset.from_list([{"prompt": "w2"}] * rows),
        rollout_func=rollout,
        args=GRPOConfig(
            output_dir=str(folder / "out"),
            per_device_train_batch_size=rows // parts,
            gradient_accumulation_steps=parts,
            steps_per_generation=parts,
            # With reused completions the trainer computes old log-probabilities.
            num_iterations=2,
            num_generations=SAMPLES,
            max_completion_length=LENGTH,
            gradient_checkpointing=False,
            use_cpu=True,
            bf16=False,
            report_to="none",
            save_strategy="no",
            **settings,
        ),
    )
    # The trainer's types allow wrapped models; this one is not wrapped.
    model: Any = trainer.model
    model.train()
    trainer.current_gradient_accumulation_steps = parts
    reference: Any = trainer.ref_model
    if reference is not None:
        move(reference, seed=2, scale=0.05)
    batch = trainer._generate_and_score_completions([{"prompt": "w2"}] * rows)
    move(model, seed=1, scale=0.015)

    scored: list[torch.Tensor] = []
    gradients: list[torch.Tensor] = []
    score = trainer._get_per_token_logps_and_entropies

    def watched(*args: Any, **kwargs: Any) -> Any:
        logps, *rest = score(*args, **kwargs)
        logps.register_hook(gradients.append)
        scored.append(logps)
        return logps, *rest

    trainer._get_per_token_logps_and_entropies = watched
    loss = 0.0
    for part in split_tensor_dict(batch, parts):
        value = trainer._compute_loss(model, part)
        value.backward()
        loss += value.item()
    weights = {name: weight.detach().numpy() for name, weight in model.named_parameters()}
    result = {
        "advantages": batch["advantages"].numpy(),
        "logp": torch.cat(scored).detach().numpy(),
        "logp_old": batch["old_per_token_logps"].numpy(),
        "loss": np.float32(loss),
        "grad_logp": torch.cat(gradients).numpy(),
        "grad_weights": np.concatenate(
            [weight.grad.flatten().numpy() for _, weight in sorted(model.named_parameters())]
        ),
        "weights": np.concatenate([weights[name].ravel() for name in sorted(weights)]),
    }
    if "ref_per_token_logps" in batch:
        result["logp_ref"] = batch["ref_per_token_logps"].numpy()
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder to write vectors.npz and vectors.json to")
    out: Path = parser.parse_args().out
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.set_num_threads(1)
    arrays: dict[str, Any] = {}
    rng = np.random.default_rng(0)
    single, several = rollouts(rng, turns=False), rollouts(rng, turns=True)
    plans = [(name, 1) for name in CASES] + [(name, 2) for name in ACCUMULATED]
    cases: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        torch.manual_seed(0)
        model = Qwen3ForCausalLM(Qwen3Config(**SHAPE))
        model.save_pretrained(folder / "model")
        tokenizer().save_pretrained(folder / "model")
        for name, parts in plans:
            turns = name.endswith("_turns")
            result = record(CASES[name], several if turns else single, parts, folder, turns)
            weights = result.pop("weights")
            # The weights are the same in every case.
            np.testing.assert_array_equal(arrays.setdefault("weights", weights), weights)
            key = f"{name}/{parts}"
            arrays |= {f"{key}/{field}": value for field, value in result.items()}
            cases[key] = {"rollouts": "several" if turns else "single", "settings": CASES[name], "parts": parts}
    description = {
        "versions": {name: version(name) for name in ("trl", "torch", "transformers")},
        "shape": SHAPE,
        "samples": SAMPLES,
        "length": LENGTH,
        "end": END,
        "rollouts": {"single": single, "several": several},
        "cases": cases,
    }
    out.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(out / "vectors.npz", **arrays)
    (out / "vectors.json").write_text(json.dumps(description) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
