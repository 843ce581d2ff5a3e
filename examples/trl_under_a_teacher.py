"""Trains a model in TRL's GRPOTrainer on tasks that a teacher chooses."""

from __future__ import annotations

import argparse

import torch
from palaestra.integrations.trl import Curriculum
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--model", default="Qwen/Qwen3-0.6B", help="a folder, or an id on the hub")
parser.add_argument("--steps", type=int, default=100)
parser.add_argument("--tokens", type=int, default=256, help="of an answer")
arguments = parser.parse_args()

cuda = torch.cuda.is_available()
curriculum = Curriculum("palaestra/Countdown-v0", "alp-gmm", seed=0)
trainer = GRPOTrainer(
    arguments.model,
    curriculum.reward,
    args=GRPOConfig(
        "runs/countdown",
        max_steps=arguments.steps,
        per_device_train_batch_size=8,
        num_generations=4,
        max_completion_length=arguments.tokens,
        shuffle_dataset=False,
        use_cpu=not cuda,
        bf16=cuda,
        report_to="none",
    ),
    train_dataset=curriculum.dataset(),
    callbacks=[curriculum.callback()],
)
trainer.train()
print(curriculum.teacher.metrics())
