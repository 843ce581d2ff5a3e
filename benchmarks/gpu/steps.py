"""Rows of the GPU benchmark on whole GRPO steps: sampling and update, ours and TRL's, on the same shape.

Both sides start with the same random weights, sample answers of full length to the same prompts of random tokens, and
take one optimiser step on rewards that differ within every group, without a KL penalty. Answers are not the same.
"""

from __future__ import annotations

import importlib.util
import itertools
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..learner.trl_side import TRL_ARGUMENTS
from ..ready_made import make_groups
from .decoding import ratio_of, sample
from .setup import TIMES_TRL, Figure, Setup

LR = 1e-6
OURS, THEIRS = "GRPO step, ours", ("GRPO step, TRL", "GRPO step, TRL with vLLM")
_WARM = 1
_TRL_ROWS = 16
"""Rows of TRL's micro-batches: about as many tokens as our side's in the row on training."""


def make_update(setup: Setup, model: Any) -> Any:
    """Make the update of the recipe "dr_grpo", which has no KL penalty."""
    from ...agents.grpo.config import TrainConfig
    from ...agents.grpo.objective.objective import Objective
    from ...agents.grpo.recipes import RECIPES
    from ...agents.grpo.update import Update

    sizes = setup.sizes
    config = TrainConfig(
        recipe="dr_grpo",
        device=setup.device,
        dtype="bfloat16" if setup.half else "float32",
        lr=LR,
        prompts=sizes.prompts,
        samples=sizes.samples,
        minibatches=1,
        epochs=1,
    )
    objective = Objective(RECIPES["dr_grpo"])
    objective.advance(1, 10)
    return Update(config, objective, model, None, None)


def reward(setup: Setup, prompts: list[list[int]], found: list[Any], number: int) -> Any:
    """Make groups of sampled answers, with rewards that differ within each group."""
    samples = setup.sizes.samples
    rewards = itertools.cycle((np.random.default_rng(number).permutation(samples) / samples).tolist())
    answers = [(prompt, c.ids, c.logps, ret) for prompt, c, ret in zip(prompts, found, rewards)]
    return make_groups(answers, samples)


def measure_ours(setup: Setup) -> list[Figure]:
    """Measure our step: sampling all answers, then the update."""
    sizes = setup.sizes
    model, rows = setup.make_model(), sizes.prompts * sizes.samples
    update = make_update(setup, model)
    setup.begin_peak()
    engine = setup.make_engine(model, rows)
    rolled, trained = [], []
    for number in range(_WARM + sizes.repeats):
        prompts = [p for p in setup.make_prompts(sizes.prompts, seed=number) for _ in range(sizes.samples)]
        begun = time.perf_counter()
        found = sample(setup, engine, prompts, sizes.new)
        engine.sleep()  # as in a run, so that the update can use the memory
        setup.wait()
        middle = time.perf_counter()
        update.run(reward(setup, prompts, found, number), [], rate=LR)
        setup.wait()
        if number >= _WARM:
            rolled.append(middle - begun)
            trained.append(time.perf_counter() - middle)
    rounds = [a + b for a, b in zip(rolled, trained, strict=True)]
    step, sampling = statistics.median(rounds), statistics.median(rolled)
    said = " ".join(update.passes.memory.take_notices())
    note = f"sampling {sampling:.3g} s, update {statistics.median(trained):.3g} s. {said}".strip()
    lines = [Figure(OURS, step, "s", note=note, rounds=rounds)]
    lines.append(Figure("answers sampled and trained, ours", rows * sizes.new / step, "tokens/s"))
    peak = setup.peak_gb()
    return [*lines, Figure("peak memory of a step, ours", peak, "GB")] if peak is not None else lines


def measure_trl(setup: Setup, vllm: bool = False) -> list[Figure]:
    """Measure TRL's step, with its own generation or with vLLM in its process."""
    name = THEIRS[vllm]
    for package in ("trl", "datasets", *(("vllm",) if vllm else ())):
        if importlib.util.find_spec(package) is None:
            return [Figure(name, note=f"missing: {package} is not here")]
    if vllm and not setup.cuda:
        return [Figure(name, note="missing: vLLM in TRL's process needs a GPU")]
    setup.begin_peak()
    with tempfile.TemporaryDirectory(prefix="palaestra-bench-") as folder:
        seconds = _train(setup, Path(folder), vllm)
    weights = "bfloat16 weights without masters" if setup.half else "float32 weights"
    note = f"{weights}, micro-batches of at most {_TRL_ROWS} rows"
    lines = [Figure(name, statistics.median(seconds[_WARM:]), "s", note=note, rounds=seconds[_WARM:])]
    peak = setup.peak_gb()
    if peak is not None:
        lines.append(Figure(f"peak memory of a step, {name.partition(', ')[2]}", peak, "GB"))
    return lines


def compare_steps(lines: Sequence[Figure], counts: bool) -> list[Figure]:
    """Return the ratios of TRL's time for a step to ours, as medians over rounds, from the figures so far.

    Args:
        counts: True if the floor applies.
    """
    rounds = {line.name: line.rounds for line in lines if line.rounds}
    floor = TIMES_TRL if counts else None
    return [
        ratio_of(f"time of {name.partition(', ')[2]}'s step against ours", rounds[name], rounds[OURS], floor)
        for name in THEIRS
        if OURS in rounds and name in rounds
    ]


def _train(setup: Setup, folder: Path, vllm: bool) -> list[float]:
    """Return the seconds of each of TRL's steps."""
    import torch
    from datasets import Dataset
    from transformers import TrainerCallback
    from trl.trainer.grpo_config import GRPOConfig
    from trl.trainer.grpo_trainer import GRPOTrainer

    sizes, tokenizer = setup.sizes, _make_tokenizer(setup.sizes.model["vocab_size"])
    rows, steps = sizes.prompts * sizes.samples, _WARM + sizes.repeats
    parts = max(1, rows // _TRL_ROWS)
    model: Any = setup.make_model()
    if vllm:  # vLLM loads the model itself
        model.save_pretrained(folder / "model")
        tokenizer.save_pretrained(folder / "model")
        model = str(folder / "model")
    texts = [" ".join(f"w{i}" for i in ids) for ids in setup.make_prompts(sizes.prompts * steps)]
    rng = np.random.default_rng(0)
    begun, seconds = [0.0], []

    class Clock(TrainerCallback):
        def on_step_begin(self, *_: Any, **__: Any) -> None:
            setup.wait()
            begun[0] = time.perf_counter()

        def on_step_end(self, *_: Any, **__: Any) -> None:
            setup.wait()
            seconds.append(time.perf_counter() - begun[0])

    def score(completions: list[Any], **_: Any) -> list[float | None]:
        return [float(x) for _ in range(0, len(completions), sizes.samples) for x in rng.permutation(sizes.samples)]

    options: dict[str, Any] = {"use_vllm": vllm}
    if vllm:
        options |= {"vllm_mode": "colocate", "vllm_gpu_memory_utilization": 0.3}
    trainer = GRPOTrainer(
        model=model,
        reward_funcs=score,
        processing_class=tokenizer,
        train_dataset=Dataset.from_list([{"prompt": text} for text in texts]),
        callbacks=[Clock()],
        args=GRPOConfig(
            output_dir=str(folder / "trl"),
            max_steps=steps,
            per_device_train_batch_size=rows // parts,
            gradient_accumulation_steps=parts,
            steps_per_generation=parts,
            num_generations=sizes.samples,
            max_completion_length=sizes.new,
            loss_type="dr_grpo",
            learning_rate=LR,
            lr_scheduler_type="constant",
            optim="adamw_torch_fused",
            use_cpu=not setup.cuda,
            bf16=setup.half,
            model_init_kwargs={"dtype": torch.bfloat16} if vllm else None,
            **options,
            **TRL_ARGUMENTS,
        ),
    )
    trainer.train()
    return seconds


def _make_tokenizer(vocabulary: int) -> Any:
    """Make a tokenizer whose words are the ids: "w17 w5" is [17, 5]."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from transformers import PreTrainedTokenizerFast

    words = {f"w{i}": i for i in range(vocabulary)}
    core = Tokenizer(WordLevel(words, unk_token="w0"))
    core.pre_tokenizer = Whitespace()  # type: ignore[assignment]
    return PreTrainedTokenizerFast(tokenizer_object=core, pad_token="w1", eos_token="w2", unk_token="w0")
