"""T7 of ``palaestra bench teachers``: a tiny language model learns sums of two to five digits under each teacher."""

from __future__ import annotations

import importlib
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ....agents.grpo.config import Patience, TrainConfig, WarmUp
from ....errors import InputError, MissingExtra
from ....teachers.benchmarks.table import Table, TableResult, parse_teacher

SETTINGS: dict[str, dict[str, Any]] = {
    "arithmetic": {
        "length": 150,
        "axes": {"terms": [2, 5], "digits": 1, "operations": ["+"]},
        "warmup": {"steps": 800, "target": 0.35},
        "prompts": 16,
        "samples": 8,
        "episodes": 500,
    }
}


def _run(options: Mapping[str, Any], teacher: str, seed: int, length: int) -> TableResult:
    name, teacher_options = parse_teacher(teacher)
    if ":" in name:
        raise InputError(f"teacher {name!r} must be registered to train a language model: decorate it with register().")
    try:
        learner = importlib.import_module("....agents.grpo.learner", __package__).Learner
    except ImportError as error:
        if error.name in ("torch", "transformers", "safetensors"):
            raise MissingExtra("table T7", "train") from None
        raise
    config = TrainConfig(
        env="palaestra/Arithmetic-v0",
        axes=dict(options["axes"]),
        teacher=name,
        teacher_options=teacher_options,
        recipe="grpo",
        kl=0.0,
        seed=seed,
        steps=length,
        prompts=options["prompts"],
        samples=options["samples"],
        lr=3e-4,
        max_new_tokens=8,
        max_episode_tokens=8,
        context=64,
        eval_every=max(length // 5, 1),
        eval_episodes=options["episodes"],
        final_episodes=options["episodes"],
        checkpoint_every=length,
        warmup=WarmUp(**options["warmup"]),
        # A teacher under which nothing is learned is a result.
        patience=Patience(0, 0, 0, 0),
        device="cpu",
        threads=1,
    )
    with tempfile.TemporaryDirectory(prefix="palaestra-bench-") as folder:
        run = Path(folder) / "run"
        learner.start(run, config).run(notify=lambda sentence: None)
        rows = [json.loads(line) for line in (run / "evaluations.jsonl").read_text(encoding="utf-8").splitlines()]
    episodes = options["prompts"] * options["samples"]
    return TableResult(
        score=rows[-1]["success"],
        curve=([float(row["step"] * episodes) for row in rows], [row["success"] for row in rows]),
        measures={"success before": rows[0]["success"]},
        hyperparameters=teacher_options,
    )


TABLE = Table(
    name="T7",
    title="A tiny language model that learns to add",
    about=(
        "A language model of about a million parameters, warmed up on a few solutions, is trained by reinforcement "
        "learning on sums of two to five numbers that the teacher chooses. The score is the share of held-out sums "
        "that it gets right at the end; on a ladder as short as this one, uniform practice is hard to beat, and "
        "differences of a few percent are noise."
    ),
    settings=SETTINGS,
    notes={"arithmetic": "sums of 2 to 5 numbers of one digit"},
    run=_run,
    teachers=lambda: ["random", "sec", "alp-gmm"],
    kinds=frozenset({"box", "arms", "prompts", "levels"}),
    length="training steps",
    score="sums solved",
    x="attempts",
    curve="held-out sums solved",
    seeds=3,
    further="Share of the held-out sums solved before training.",
)
