"""Rows of the GPU benchmark in their order, with the time that each may take."""

from __future__ import annotations

import importlib.util
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from . import decoding, kernels, profiles, runs, steps, training
from .setup import PAIRS, SHAPES, Figure, Setup


@dataclass(frozen=True)
class GpuRow:
    """A row's measurement.

    Attributes:
        measure: returns the row's figures.
        seconds: time that the row may always take; the row may take more if earlier rows left some.
        smaller: True if the row uses the smaller shape.
    """

    measure: Callable[[Setup], list[Figure]]
    seconds: float
    smaller: bool = False


def rows_of(kind: str) -> dict[str, GpuRow]:
    """Return the rows by name, for a kind of device ("cuda" or "cpu"). Cheap checks on which all later work depends
    come first, then one figure each of training, decoding and steps, then runs, profiles and comparisons."""
    larger, smaller = (next(iter(SHAPES[shape].batches)) for shape in PAIRS[kind])
    others = [batch for batch in SHAPES[PAIRS[kind][0]].batches if batch != larger]
    return {
        "device": GpuRow(measure_device, 25),
        "attention": GpuRow(training.compare_attention, 10),
        "kernels": GpuRow(kernels.compare_kernels, 10),
        "gap": GpuRow(training.measure_gap, 15),
        "captured": GpuRow(decoding.compare_captured, 15),
        "training": GpuRow(training.measure_training, 20),
        f"decode-{larger}": GpuRow(partial(decoding.measure_decoding, batch=larger), 25),
        "step": GpuRow(steps.measure_ours, 20),
        "profile-decoding": GpuRow(profiles.profile_decoding, 15),
        "profile-update": GpuRow(profiles.profile_update, 15),
        "train": GpuRow(partial(runs.measure_run, name="plain", resume=True), 35, smaller=True),
        "train-ahead": GpuRow(partial(runs.measure_run, name="--staleness 1"), 25, smaller=True),
        "train-bfloat16": GpuRow(
            partial(runs.measure_run, name="--dtype bfloat16 --gradient-checkpointing"), 25, smaller=True
        ),
        "train-turns": GpuRow(partial(runs.measure_run, name="of three turns", turns=True), 25, smaller=True),
        "train-lora": GpuRow(partial(runs.measure_run, name="--lora 8"), 25, smaller=True),
        "ragged": GpuRow(decoding.measure_ragged, 15),
        "turns": GpuRow(decoding.measure_turns, 15),
        "decode-small": GpuRow(partial(decoding.measure_decoding, batch=smaller), 20, smaller=True),
        "training-small": GpuRow(training.measure_training, 15, smaller=True),
        "train-compile": GpuRow(partial(runs.measure_run, name="--compile"), 50, smaller=True),
        "trl": GpuRow(steps.measure_trl, 35),
        "learner": GpuRow(measure_learner, 35),
        "shared-prompts": GpuRow(decoding.compare_shared, 10),
        "short-memory": GpuRow(training.compare_short_memory, 10),
        **{f"decode-{n}": GpuRow(partial(decoding.measure_decoding, batch=n), 10) for n in reversed(others)},
        "trl-vllm": GpuRow(partial(steps.measure_trl, vllm=True), 5),
    }


def measure_device(setup: Setup) -> list[Figure]:
    """Measure the rates of copies and matrix products, and the time of the first use of the device."""
    import torch

    small = 1.0 if setup.cuda else 1 / 64
    begun = setup.seconds(lambda: torch.ones(1, device=setup.device))
    source = torch.randn(int((1 << 30) * small), device=setup.device)
    target = torch.empty_like(source)
    copied = min(setup.seconds(lambda: target.copy_(source)) for _ in range(5))
    size = int(8192 * small)
    x = torch.randn(size, size, device=setup.device, dtype=torch.bfloat16 if setup.half else torch.float32)
    multiplied = min(setup.seconds(lambda: x @ x) for _ in range(5))
    return [
        Figure("first use of the device", begun, "s"),
        Figure("copies, read and written", 2 * source.nbytes / copied / 1e9, "GB/s"),
        Figure("products of matrices", 2e-12 * size**3 / multiplied, "TFLOP/s", note=str(x.dtype).partition(".")[2]),
    ]


def measure_learner(setup: Setup) -> list[Figure]:
    """Run ``palaestra bench learner`` on its part "step", with the TRL of this Python, and return its figures."""
    name = "bench learner: TRL's step against ours"
    for package in ("trl", "datasets"):
        if importlib.util.find_spec(package) is None:
            return [Figure(name, note=f"missing: {package} is not here")]
    with tempfile.TemporaryDirectory(prefix="palaestra-bench-") as folder:
        file = Path(folder) / "learner.json"
        command = [sys.executable, "-m", "palaestra.benchmarks", "learner", "--parts", "step"]
        command += ["--steps", "6", "--warmup", "2", "--trl-python", sys.executable, "--json", str(file)]
        command += ["--device", setup.device] if setup.cuda else ["--quick"]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode:
            raise RuntimeError(ended.stderr.strip().splitlines()[-1:] or f"exit code {ended.returncode}")
        (found,) = json.loads(file.read_text(encoding="utf-8"))["step"]
    sides = {side: [step["seconds"] for step in theirs["steps"]] for side, theirs in found["sides"].items()}
    lines = [
        Figure(f"bench learner: step of {side}", statistics.median(rounds), "s", rounds=rounds)
        for side, rounds in sides.items()
    ]
    return [*lines, decoding.ratio_of(name, sides["TRL"], sides["ours"])]
