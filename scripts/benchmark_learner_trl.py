"""TRL's side of the learner benchmark: one GRPO optimiser step at a time, on command.

It runs in TRL's own virtual environment, so it imports nothing of this package and `benchmark_learner` starts it as a
plain script. The channel at the top is shared by both sides: JSON lines out, the words "step" and "stop" in.
"""

from __future__ import annotations

import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any


class Channel:
    """Talks to the parent process over the standard streams; whatever else is printed goes to standard error."""

    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
        os.dup2(2, 1)
        self._released = time.perf_counter()

    def report(self, **fields: Any) -> bool:
        """Send one object and wait for the next command; False when the parent wants no further step."""
        self._out.write(json.dumps({**fields, "peak_mb": peak_memory()}) + "\n")
        command = sys.stdin.readline().strip()
        self._released = time.perf_counter()
        return command == "step"

    def seconds(self) -> float:
        """Since the last command arrived."""
        return time.perf_counter() - self._released


def peak_memory() -> float:
    """Largest resident size of this process so far, MB (10^6 bytes)."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024 / 1e6
    import resource

    # Bytes on macOS, the only other system with this module and no /proc that is in wide use.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def lower_case_share(text: str, tokens: int) -> float:
    """The reward of both sides: lower-case letters per token, in [0, 1]. Eight samples hardly ever agree on it."""
    return min(1.0, sum(character.islower() for character in text) / tokens)


def main(settings: dict[str, Any]) -> None:
    """Train until told to stop; see `benchmark_learner.Settings` for the entries."""
    channel = Channel()
    import torch

    torch.set_num_threads(settings["threads"])
    from datasets import Dataset  # pyright: ignore[reportMissingImports]
    from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
    from trl import GRPOConfig, GRPOTrainer  # pyright: ignore[reportMissingImports]

    folder = Path(settings["folder"])
    model = AutoModelForCausalLM.from_pretrained(folder / "model", dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(folder / "model")
    prompts = json.loads((folder / "prompts.json").read_text(encoding="utf-8"))
    for prompt in prompts[:8]:
        if tokenizer(prompt["text"]).input_ids != prompt["ids"]:
            raise RuntimeError(f"TRL's tokenizer reads {prompt['text']!r} otherwise than ours.")
    rows = settings["prompts"] * settings["samples"]
    last = {"reward": 0.0, "tokens": 0, "rollout_s": 0.0}

    def reward(completions: list[str], completion_ids: list[list[int]], **_: Any) -> list[float]:
        scores = [lower_case_share(text, settings["new_tokens"]) for text in completions]
        last.update(reward=sum(scores) / len(scores), tokens=sum(map(len, completion_ids)))
        return scores

    class OnCommand(TrainerCallback):
        """Stands still between two steps."""

        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            versions = {name: version(name) for name in ("trl", "torch", "transformers")}
            if not channel.report(event="ready", versions=versions):
                control.should_training_stop = True

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            seconds = channel.seconds()
            if not channel.report(event="step", seconds=seconds, train_s=seconds - last["rollout_s"], **last):
                control.should_training_stop = True

    trainer = GRPOTrainer(
        model=model,
        reward_funcs=reward,
        processing_class=tokenizer,
        train_dataset=Dataset.from_list([{"prompt": prompt["text"]} for prompt in prompts]),
        callbacks=[OnCommand()],
        args=GRPOConfig(
            output_dir=str(folder / "trl"),
            max_steps=10**6,
            # The whole batch in one forward pass, sampled anew for each optimiser step.
            per_device_train_batch_size=rows,
            gradient_accumulation_steps=1,
            steps_per_generation=1,
            num_iterations=1,
            num_generations=settings["samples"],
            max_completion_length=settings["new_tokens"],
            temperature=1.0,
            top_p=1.0,
            top_k=0,
            beta=0.0,
            epsilon=0.2,
            loss_type="grpo",
            scale_rewards="group",
            mask_truncated_completions=False,
            learning_rate=settings["lr"],
            lr_scheduler_type="constant",
            warmup_steps=0,
            optim="adamw_torch_fused",
            adam_beta2=0.999,
            weight_decay=0.0,
            max_grad_norm=settings["max_grad_norm"],
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            dataloader_pin_memory=False,
            save_strategy="no",
            logging_strategy="no",
            report_to="none",
            disable_tqdm=True,
        ),
    )
    generate = trainer._generate_and_score_completions

    def timed(*args: Any, **kwargs: Any) -> Any:
        begun = time.perf_counter()
        result = generate(*args, **kwargs)
        last["rollout_s"] = time.perf_counter() - begun
        return result

    trainer._generate_and_score_completions = timed
    trainer.train()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
