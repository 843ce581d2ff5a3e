"""TRL's side of the learner benchmark: one GRPO optimiser step per command.

The module runs in TRL's virtual environment, so `command` starts it as a plain script that imports nothing of this
package except the verifier of a real environment. The functions that both sides use come first: the channel (it writes
JSON lines and reads the commands "step", "evaluate" and "stop"), the reward, and the measurement of memory.
"""

from __future__ import annotations

import copy
import ctypes
import gc
import importlib
import itertools
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any


class Channel:
    """Connection to the parent process over the standard streams; all other prints go to standard error."""

    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
        os.dup2(2, 1)
        self.evaluate: Callable[[], dict[str, float]] | None = None
        """Function that evaluates the policy between two steps, at the command "evaluate"; its time is not counted."""
        self._released = time.perf_counter()
        self._used = time.process_time()

    def report(self, **fields: Any) -> bool:
        """Send one object and wait for the next command. Return True if it is "step"."""
        self._send(fields)
        while (command := sys.stdin.readline().strip()) == "evaluate" and self.evaluate is not None:
            self._send(self.evaluate())
        self._released = time.perf_counter()
        self._used = time.process_time()
        return command == "step"

    def _send(self, fields: dict[str, Any]) -> None:
        self._out.write(json.dumps({**fields, "peak_mb": peak_memory()}) + "\n")

    def seconds(self) -> float:
        """Return the seconds since the last command arrived."""
        return time.perf_counter() - self._released

    def cpu_seconds(self) -> float:
        """Return the processor time (s) of all threads of this process since the last command arrived."""
        return time.process_time() - self._used


def _resident(entry: str) -> float:
    """Return an entry of Linux's ``/proc/self/status`` in MB (10^6 bytes); elsewhere the largest resident size."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith(entry))
        return int(line.split()[1]) * 1024 / 1e6
    import resource

    # Bytes on macOS, the only other system with this module and no /proc that is in wide use.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def peak_memory() -> float:
    """Return the largest resident size of this process in MB, since the start or since the last `ResourceMeter`."""
    return _resident("VmHWM")


class ResourceMeter:
    """Meter of a piece of work: peak memory above the level at the start (Linux only; 0 elsewhere), and processor time
    of all threads."""

    def __init__(self) -> None:
        gc.collect()
        try:
            # Free memory that the allocator keeps would hide memory that the work takes.
            ctypes.CDLL("libc.so.6").malloc_trim(0)
            Path("/proc/self/clear_refs").write_text("5")
        except OSError:
            pass
        self._held = _resident("VmRSS")
        self._used = time.process_time()

    def megabytes(self) -> float:
        return max(0.0, peak_memory() - self._held)

    def cpu_seconds(self) -> float:
        return time.process_time() - self._used


def lower_case_share(text: str, tokens: int) -> float:
    """Return the number of lower-case letters per token, at most 1. Eight samples almost never have the same value."""
    return min(1.0, sum(character.islower() for character in text) / tokens)


def has_constant_reward(letters: str, share: float) -> bool:
    """Return True if all answers to a prompt have the same reward, as for about ``share`` of random prompts."""
    return ord(letters[0]) - ord("a") < round(26 * share)


def score_answer(letters: str, text: str, tokens: int, flat: float) -> float:
    """Return the reward of an answer to a prompt, the same on both sides."""
    return 0.5 if has_constant_reward(letters, flat) else lower_case_share(text, tokens)


def load_rollouts(settings: dict[str, Any]) -> Iterator[list[dict[str, Any]]]:
    """Yield the ready-made rollouts, batch after batch, repeated without end."""
    return itertools.cycle(json.loads((Path(settings["folder"]) / "rollouts.json").read_text(encoding="utf-8")))


def encode_prompt(tokenizer: Any, prompt: dict[str, Any]) -> list[int]:
    """Return the ids of a prompt, from its messages or else its text, as TRL computes them."""
    if "messages" not in prompt:
        return tokenizer(prompt["text"]).input_ids
    return tokenizer.apply_chat_template(
        prompt["messages"], add_generation_prompt=True, tokenize=True, return_dict=False
    )


TRL_ARGUMENTS: dict[str, Any] = {
    "num_iterations": 1,
    "temperature": 1.0,
    "top_p": 1.0,
    "top_k": 0,
    "beta": 0.0,
    "gradient_checkpointing": False,
    "dataloader_pin_memory": False,
    "save_strategy": "no",
    "logging_strategy": "no",
    "report_to": "none",
    "disable_tqdm": True,
}
"""Arguments of TRL in every comparison: one pass over fresh samples, no KL penalty, nothing written."""

Verifier = Callable[[list[Any], dict[str, list[Any]]], list[float]]
"""Function (completions, columns that identify their tasks) -> rewards."""


def load_verifier(env_id: str) -> Verifier:
    """Make the verifier of an environment."""
    # Imported by name, as type checkers know this package only by its relative name.
    score = importlib.import_module("palaestra.integrations.trl").reward(env_id)
    names = ("env", "seed", "kwargs", "options")
    return lambda completions, columns: score(completions, **{name: columns[name] for name in names})


def measure_success(
    model: Any, tokenizer: Any, generation: Any, held_out: list[dict[str, Any]], rows: int, verify: Verifier
) -> dict[str, float]:
    """Return the mean reward on held-out prompts, ``sampled`` and ``greedy``.

    Args:
        generation: TRL's generation settings.
        rows: number of prompts answered at a time.
    """
    import torch

    means = {}
    model.eval()
    for name, sampled in {"sampled": True, "greedy": False}.items():
        settings, scores = copy.deepcopy(generation), []
        settings.do_sample = sampled
        for low in range(0, len(held_out), rows):
            part = held_out[low : low + rows]
            ids = tokenizer.pad({"input_ids": [one["ids"] for one in part]}, padding_side="left", return_tensors="pt")
            with torch.no_grad():
                answers = model.generate(**ids.to(model.device), generation_config=settings)[
                    :, ids["input_ids"].shape[1] :
                ]
            texts = tokenizer.batch_decode(answers, skip_special_tokens=True)
            scores += verify(texts, {key: [one["row"][key] for one in part] for key in part[0]["row"]})
        means[name] = sum(scores) / len(scores)
    model.train()
    return means


def main(settings: dict[str, Any]) -> None:
    """Train until the command "stop"; see `settings.Settings` for the entries."""
    channel = Channel()
    import torch

    torch.set_num_threads(settings["threads"])
    from datasets import Dataset
    from torch.optim.lr_scheduler import LambdaLR
    from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback, set_seed
    from trl.trainer.grpo_config import GRPOConfig
    from trl.trainer.grpo_trainer import GRPOTrainer

    folder = Path(settings["folder"])
    place = settings["model"] or folder / "model"
    model = AutoModelForCausalLM.from_pretrained(place, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(place)
    prompts = json.loads((folder / "prompts.json").read_text(encoding="utf-8"))
    for prompt in prompts[:8]:
        if encode_prompt(tokenizer, prompt) != prompt["ids"]:
            raise RuntimeError(f"TRL's tokenizer reads {prompt['text']!r} otherwise than ours.")
    verify = load_verifier(settings["env"]) if settings["env"] else None
    letters = {} if verify else {prompt["text"]: prompt["letters"] for prompt in prompts}
    rows = settings["prompts"] * settings["samples"]
    last: dict[str, float] = {}
    batches = None if settings["played"] else load_rollouts(settings)
    batch: list[dict[str, Any]] = []

    def score_completions(
        prompts: list[Any], completions: list[Any], completion_ids: list[list[int]], **columns: Any
    ) -> list[float | None]:
        if verify is not None:
            scores = verify(completions, columns)
        elif batches is not None:
            scores = [score for group in batch for score in group["rewards"]]
        else:
            tokens, flat = settings["new_tokens"], settings["flat"]
            scores = [
                score_answer(letters[prompt], text, tokens, flat)
                for prompt, text in zip(prompts, completions, strict=True)
            ]
        sizes = [scores[low : low + settings["samples"]] for low in range(0, rows, settings["samples"])]
        last.update(
            reward=sum(scores) / len(scores),
            tokens=sum(map(len, completion_ids)),
            flat=sum(max(group) == min(group) for group in sizes) / len(sizes),
        )
        return [*scores]

    def serve_rollouts(prompts: list[str], trainer: Any) -> dict[str, Any]:
        nonlocal batch
        assert batches is not None
        batch = next(batches)
        completions = [ids for group in batch for ids in group["completions"]]
        return {
            "prompt_ids": [group["prompt"] for group in batch for _ in group["completions"]],
            "completion_ids": completions,
            "logprobs": [[0.0] * len(ids) for ids in completions],
        }

    def evaluate() -> dict[str, float]:
        held_out = json.loads((folder / "held_out.json").read_text(encoding="utf-8"))
        assert verify is not None
        # Keep the random state of training unchanged.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings["seed"])
            return measure_success(model, tokenizer, trainer.generation_config, held_out, rows, verify)

    class OnCommand(TrainerCallback):
        """Reports the start of training and each step; after each report, training waits for the next command."""

        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            channel.evaluate = evaluate
            versions = {name: version(name) for name in ("trl", "torch", "transformers")}
            if not channel.report(event="ready", versions=versions):
                control.should_training_stop = True

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            seconds, last["cpu_s"] = channel.seconds() - last["paused_s"], channel.cpu_seconds()
            if meter is not None:
                last.update(cpu_s=meter.cpu_seconds(), extra_mb=meter.megabytes())
            if not channel.report(event="step", seconds=seconds, train_s=seconds - last["rollout_s"], **last):
                control.should_training_stop = True

    optimizer = torch.optim.AdamW(model.parameters(), settings["lr"], weight_decay=0.0, fused=True)
    warmup = settings["lr_warmup"]
    set_seed(settings["seed"])
    trainer = GRPOTrainer(
        model=model,
        reward_funcs=score_completions,
        processing_class=tokenizer,
        train_dataset=Dataset.from_list(
            [{"prompt": one.get("messages", one["text"]), **one.get("row", {})} for one in prompts]
        ),
        # The linear warm-up of transformers begins with a step at a rate of 0.
        optimizers=(optimizer, LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / max(1, warmup)))),
        callbacks=[OnCommand()],
        rollout_func=None if batches is None else serve_rollouts,
        args=GRPOConfig(
            output_dir=str(folder / "trl"),
            max_steps=10**6,
            seed=settings["seed"],
            # Completions are sampled together for each optimiser step, and trained in one or several forward passes.
            per_device_train_batch_size=rows // settings["trl_passes"],
            gradient_accumulation_steps=settings["trl_passes"],
            generation_batch_size=rows,
            num_generations=settings["samples"],
            max_completion_length=settings["new_tokens"],
            epsilon=0.2,
            loss_type="grpo",
            scale_rewards="group",
            mask_truncated_completions=False,
            learning_rate=settings["lr"],
            max_grad_norm=settings["max_grad_norm"],
            use_cpu=settings["device"] == "cpu",
            bf16=False,
            **TRL_ARGUMENTS,
        ),
    )
    generate, score = trainer._generate_and_score_completions, trainer._get_per_token_logps_and_entropies
    meter: ResourceMeter | None = None

    def generate_timed(*args: Any, **kwargs: Any) -> Any:
        nonlocal meter
        begun = time.perf_counter()
        result = generate(*args, **kwargs)
        rolled = time.perf_counter()
        meter = ResourceMeter() if batches is not None else None
        last.update(rollout_s=rolled - begun, paused_s=time.perf_counter() - rolled)
        return result

    def score_counted(model: Any, input_ids: Any, *args: Any, **kwargs: Any) -> Any:
        last["processed"] = input_ids.numel()
        return score(model, input_ids, *args, **kwargs)

    trainer._generate_and_score_completions = generate_timed
    trainer._get_per_token_logps_and_entropies = score_counted
    trainer.train()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
