"""Train a model in TRL's GRPOTrainer on tasks that a teacher chooses. The default is a tiny model with random weights,
which never earns a reward; give --model to train a real one."""

from __future__ import annotations

import argparse

import torch
from palaestra.agents.language.tiny import tiny_model
from palaestra.integrations.trl import Curriculum
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--model", help="a folder, or an id on the hub such as Qwen/Qwen3-0.6B")
parser.add_argument("--steps", type=int, default=10)
parser.add_argument("--tokens", type=int, default=16, help="of an answer; a model that reasons needs 1,000 and more")
parser.add_argument("--out", default="runs/trl")
arguments = parser.parse_args()

cuda = torch.cuda.is_available()
curriculum = Curriculum("palaestra/Arithmetic-v0", "alp-gmm", seed=0)
model, tokenizer = (arguments.model, None) if arguments.model else tiny_model(seed=0)
trainer = GRPOTrainer(
    model,
    curriculum.reward,
    args=GRPOConfig(
        arguments.out,
        max_steps=arguments.steps,
        per_device_train_batch_size=8,
        num_generations=4,
        max_completion_length=arguments.tokens,
        shuffle_dataset=False,
        logging_steps=1,
        use_cpu=not cuda,
        bf16=cuda,
        report_to="none",
    ),
    train_dataset=curriculum.dataset(),
    processing_class=tokenizer,
    callbacks=[curriculum.callback()],
)
trainer.train()
trainer.save_model()
print(curriculum.teacher.metrics())
print(f"model in {arguments.out}; palaestra eval palaestra/Arithmetic-v0 --agent {arguments.out}")
