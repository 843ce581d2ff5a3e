"""Settings of the learner benchmark: the record that both sides receive, and the settings of each part."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal


@dataclass(frozen=True)
class Settings:
    """Settings of one comparison; every side receives them as JSON.

    Attributes:
        label: name that distinguishes the setting from others of the same part.
        prompts, samples: number of prompts per step and of completions per prompt.
        prompt_tokens: exact number of tokens of a prompt; the largest number if ``env`` is given.
        new_tokens: largest number of tokens of a completion; the exact number if ``mean_tokens`` is 0.
        mean_tokens: mean length of completions under the initial weights, which is geometric; 0 for a fixed length.
        flat: share of the prompts whose answers all have the same reward.
        vocabulary: size of the model's vocabulary; 0 takes the tokenizer's.
        played: True if completions are sampled; False if both sides receive the same ready-made completions.
        folder: folder with model/, prompts.json and rollouts.json.
        packer: packer of our side.
        device: device of both sides, "cpu" or "cuda"; memory figures are always of host memory.
        lr_warmup: number of steps over which the learning rate rises.
        model, env, axes, system: folder of a model that is trained on an environment, with a system prompt; empty for
            the tiny model and the task of letters.
        held_out: number of held-out tasks of an evaluation.
        trl_passes: number of passes in which TRL trains on a batch.
    """

    label: str
    prompts: int
    samples: int
    prompt_tokens: int
    new_tokens: int
    mean_tokens: int = 0
    flat: float = 0.0
    vocabulary: int = 0
    played: bool = True
    lr: float = 3e-4
    max_grad_norm: float = 1.0
    threads: int = 2
    packer: str = "shared_prefix"
    device: str = "cpu"
    folder: str = ""
    seed: int = 0
    lr_warmup: int = 0
    model: str = ""
    env: str = ""
    axes: dict[str, Any] = field(default_factory=dict)
    system: str = ""
    held_out: int = 0
    trl_passes: int = 1

    def small(self) -> Settings:
        """Return the same settings in miniature, to try out the benchmark itself."""
        return replace(
            self,
            prompts=max(2, self.prompts // 4),
            prompt_tokens=self.prompt_tokens if self.env else max(8, self.prompt_tokens // 4),
            new_tokens=max(8, self.new_tokens // 4),
            mean_tokens=max(2, self.mean_tokens // 4) if self.mean_tokens else 0,
            vocabulary=min(self.vocabulary, 8192),
        )


# Lengths and variance of "ragged" come from the policy, which must barely change: hence the small learning rate.
PARTS: dict[str, tuple[Settings, ...]] = {
    "step": (Settings("16 x 8 x 64", 16, 8, 32, 64),),
    "ragged": (Settings("16 x 16, geometric", 16, 16, 128, 192, mean_tokens=24, flat=0.5, lr=1e-6),),
    "vocabulary": (Settings("8 x 512, 151,936 tokens", 2, 4, 64, 448, vocabulary=151_936, played=False),),
    "flat": tuple(
        Settings(f"{share:.0%} without variance", 20, 8, 32, 64, flat=share, played=False)
        for share in (0.0, 0.5, 0.75, 0.9)
    ),
    "prefix": (Settings("4 x 16, prompt 512, answer 32", 4, 16, 512, 32, played=False),),
    "real": (
        Settings(
            "Arithmetic, one digit",
            *(8, 8, 112, 12),
            lr=1e-5,
            lr_warmup=5,
            env="palaestra/Arithmetic-v0",
            axes={"digits": 1, "terms": 2, "operations": ["+"]},
        ),
    ),
}

Part = Literal["step", "ragged", "vocabulary", "flat", "prefix", "real"]
