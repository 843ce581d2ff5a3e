"""Rows of the GPU benchmark on whole GRPO steps: sampling and update, ours and TRL's, on the same shape.

Both sides begin with the same random weights, sample answers of full length to prompts of random tokens, and take one
optimiser step on rewards that differ within every group, without a KL penalty. Prompts are the same, answers are not.
"""

from __future__ import annotations

import importlib.util
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from .decoding import sample
from .setup import TIMES_TRL, Figure, Setup
from .training import make_groups

_LR = 1e-6
_WARM = 1
_TRL_ROWS = 16
"""Rows of TRL's micro-batches: about as many tokens as ours have in the row on training."""


def measure_ours(setup: Setup) -> list[Figure]:
    """Our step: a wave of the engine, then the update of the recipe without a KL penalty."""
    from ....agents.grpo.config import TrainConfig
    from ....agents.grpo.objective.objective import Objective
    from ....agents.grpo.recipes import RECIPES
    from ....agents.grpo.update import Update

    sizes = setup.sizes
    model, rows = setup.make_model(), sizes.prompts * sizes.samples
    config = TrainConfig(
        recipe="dr_grpo",
        device=setup.device,
        dtype="bfloat16" if setup.half else "float32",
        lr=_LR,
        prompts=sizes.prompts,
        samples=sizes.samples,
        minibatches=1,
        epochs=1,
    )
    objective = Objective(RECIPES["dr_grpo"])
    objective.advance(1, 10)
    update = Update(config, objective, model, None, None)
    setup.begin_peak()
    engine = setup.make_engine(model, rows)
    rolled, trained = [], []
    for number in range(_WARM + sizes.repeats):
        prompts = [p for p in setup.make_prompts(sizes.prompts, seed=number) for _ in range(sizes.samples)]
        begun = time.perf_counter()
        found = sample(setup, engine, prompts, sizes.new)
        engine.sleep()  # as a run does, so that the update has the memory
        setup.wait()
        middle = time.perf_counter()
        rewards = np.random.default_rng(number).permutation(sizes.samples) / sizes.samples
        answers = [
            (prompt, c.ids, c.logps, float(rewards[i % sizes.samples]))
            for i, (prompt, c) in enumerate(zip(prompts, found, strict=True))
        ]
        update.run(make_groups(answers, sizes.samples), [], rate=_LR)
        setup.wait()
        if number >= _WARM:
            rolled.append(middle - begun)
            trained.append(time.perf_counter() - middle)
    step, sampling = statistics.median(map(sum, zip(rolled, trained, strict=True))), statistics.median(rolled)
    said = " ".join(update.forward.memory.take_notices())
    note = f"sampling {sampling:.3g} s, update {statistics.median(trained):.3g} s. {said}".strip()
    lines = [Figure("GRPO step, ours", step, "s", note=note)]
    lines.append(Figure("answers sampled and trained, ours", rows * sizes.new / step, "tokens/s"))
    peak = setup.peak_gb()
    return [*lines, Figure("peak memory of a step, ours", peak, "GB")] if peak is not None else lines


def measure_trl(setup: Setup, vllm: bool = False) -> list[Figure]:
    """TRL's step, with its own generation or with vLLM in its process."""
    name = "GRPO step, TRL with vLLM" if vllm else "GRPO step, TRL"
    for package in ("trl", "datasets", *(("vllm",) if vllm else ())):
        if importlib.util.find_spec(package) is None:
            return [Figure(name, note=f"missing: the package {package} is not installed")]
    if vllm and not setup.cuda:
        return [Figure(name, note="missing: vLLM in TRL's process needs a GPU")]
    setup.begin_peak()
    with tempfile.TemporaryDirectory(prefix="palaestra-bench-") as folder:
        seconds = _train(setup, Path(folder), vllm)
    weights = "bfloat16 weights without masters" if setup.half else "float32 weights"
    note = f"{weights}, micro-batches of at most {_TRL_ROWS} rows"
    lines = [Figure(name, statistics.median(seconds[_WARM:]), "s", note=note)]
    peak = setup.peak_gb()
    if peak is not None:
        lines.append(Figure(f"peak memory of a step, {name.partition(', ')[2]}", peak, "GB"))
    return lines


def compare_steps(lines: list[Figure], counts: bool) -> list[Figure]:
    """How many times our step TRL's takes, of the lines so far.

    Args:
        counts: whether the floor holds.
    """
    known = {line.name: line.value for line in lines if line.value is not None}
    ours = known.get("GRPO step, ours")
    found = []
    for name in ("GRPO step, TRL", "GRPO step, TRL with vLLM"):
        theirs = known.get(name)
        if ours and theirs:
            floor = TIMES_TRL if counts else None
            found.append(
                Figure(f"time of {name.partition(', ')[2]}'s step against ours", theirs / ours, "times", floor)
            )
    return found


def _train(setup: Setup, folder: Path, vllm: bool) -> list[float]:
    """Seconds of each of TRL's steps."""
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
            num_iterations=1,
            num_generations=sizes.samples,
            max_completion_length=sizes.new,
            temperature=1.0,
            top_p=1.0,
            top_k=0,
            beta=0.0,
            loss_type="dr_grpo",
            learning_rate=_LR,
            lr_scheduler_type="constant",
            optim="adamw_torch_fused",
            use_cpu=not setup.cuda,
            bf16=setup.half,
            save_strategy="no",
            logging_strategy="no",
            report_to="none",
            gradient_checkpointing=False,
            disable_tqdm=True,
            dataloader_pin_memory=False,
            model_init_kwargs={"dtype": torch.bfloat16} if vllm else None,
            **options,
        ),
    )
    trainer.train()
    return seconds


def _make_tokenizer(vocabulary: int) -> Any:
    """A tokenizer whose words are the ids: "w17 w5" is [17, 5]."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from transformers import PreTrainedTokenizerFast

    words = {f"w{i}": i for i in range(vocabulary)}
    core = Tokenizer(WordLevel(words, unk_token="w0"))
    core.pre_tokenizer = Whitespace()  # type: ignore[assignment]
    return PreTrainedTokenizerFast(tokenizer_object=core, pad_token="w1", eos_token="w2", unk_token="w0")
