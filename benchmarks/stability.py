"""``palaestra bench stability``: causes of a small run's loss of success, one factor at a time.

The tiny model trains on a ladder of secret codes by GRPO at three times the usual learning rate. From a checkpoint
shortly before its success falls, the run is resumed several times: unchanged, and with one change each. Weights,
optimiser and teacher are the same, and so are the random numbers of each stream (seed).

examples:
  palaestra bench stability
  palaestra bench stability --streams 1 --only as-it-was no-kl
"""

from __future__ import annotations

import dataclasses
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..agents.grpo.config import Patience, StageOverrides, TrainConfig
from .harness import check_least, check_names, make_table, read_options, require, write_json
from .ladders import LADDERS, make_environments

LADDER = LADDERS["SecretCode"]
RUNGS = (8, 9, 10)
CHANGES: dict[str, dict[str, Any]] = {
    "as-it-was": {},
    "no-kl": {"kl": 0.0},
    "kl-full": {"regularisers": "kl_full(coefficient=0.02)"},
    "kl-k2": {"regularisers": "kl_k2(coefficient=0.02)"},
    "k3-clip-10": {"regularisers": "kl_k3(coefficient=0.02, clip=10)"},
    "scale-none": {"scale": "none"},
    "24-prompts": {"prompts": 24},
    "lr-3e-4": {"lr": 3e-4},
    "guard": {"guards": "max_token_change(limit=1)"},
}
"""Name of a change -> entries of the configuration, including entries of stages."""
_STAGES = frozenset(item.name for item in dataclasses.fields(StageOverrides))


@dataclass(frozen=True)
class StabilityOptions:
    only: tuple[str, ...] = ()
    """Changes to try; all by default."""
    seed: int = 0
    """Seed of the run."""
    start: int = 90
    """Step of the checkpoint from which the run is resumed."""
    steps: int = 11
    """Number of steps after the checkpoint."""
    streams: int = 3
    """Number of seeds for each change; the first is the run's own."""
    tasks: int = 64
    """Number of held-out tasks of each rung on which success is measured."""
    json: Path | None = None
    """Write the figures here as JSON."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    from rich.console import Console

    options = read_options(StabilityOptions, "stability", argv, __doc__)
    check_least(options, 1, "start", "steps", "streams", "tasks")
    check_names("change", options.only, CHANGES)
    require("the learner", "train", "torch", "transformers", "safetensors")
    with tempfile.TemporaryDirectory() as folder, Console(stderr=True).status("") as status:
        rows = compare_changes(Path(folder), options, status.update)
    cells = []
    for row in rows:
        success = ", ".join(f"{value:.0%}" for value in row["success"])
        cells.append((row["change"], success, f"{max(row['grad_norm']):.1f}", str(sum(row["skipped"]))))
    head = ("changed", f"success on rungs {RUNGS}", "largest gradient norm", "updates taken back")
    Console().print(make_table(head, cells))
    write_json(options.json, rows)
    return 0


def configuration(seed: int, steps: int) -> TrainConfig:
    """Return the configuration of the run whose success falls after some steps."""
    return replace(
        LADDER.config(seed),
        axes={**LADDER.fixed, LADDER.axis: [8, 74]},
        teacher="rlve",
        teacher_options={"window": 2, "threshold": 0.7},
        stages=StageOverrides(regularisers="kl_k3(coefficient=0.02)"),
        prompts=6,
        samples=16,
        steps=steps,
        lr=1e-3,
        max_grad_norm=0.5,
        eval_every=0,
        checkpoint_every=10**6,
        keep_trajectories=0,
        patience=Patience(0, 0, 0, 0),
    )


def compare_changes(folder: Path, options: StabilityOptions, watch: Callable[[str], None]) -> list[dict[str, Any]]:
    """Train to the checkpoint, and continue from there with each change.

    Returns:
        Rows with the "change" ("before" for the checkpoint itself) and, for each seed, the mean "success" over the
        rungs, the largest "grad_norm" and the number of "skipped" updates.
    """
    from ..agents.grpo.learner import Learner

    watch("the warm-up, and the run before its fall")
    learner = Learner.start(folder / "run", configuration(options.seed, options.start))
    learner.run(notify=lambda sentence: None)
    rows: list[dict[str, Any]] = [
        {"change": "before", "success": [measure(learner, options.tasks)], "grad_norm": [0.0], "skipped": [0]}
    ]
    for name in options.only or CHANGES:
        row: dict[str, Any] = {"change": name, "success": [], "grad_norm": [], "skipped": []}
        for stream in range(options.streams):
            watch(f"{name}, stream {stream}")
            again = folder / "again"
            shutil.rmtree(again, ignore_errors=True)
            shutil.copytree(folder / "run", again, symlinks=True)
            config = change(configuration(options.seed, options.start + options.steps), CHANGES[name])
            config = replace(config, seed=options.seed + stream)
            (again / "config.json").write_text(json.dumps(config.to_json()), encoding="utf-8")
            learner = Learner.resume(again)
            learner.run(notify=lambda sentence: None)
            metrics = learner.folder.read("metrics", options.start + 1, options.start + options.steps)
            row["success"].append(measure(learner, options.tasks))
            row["grad_norm"].append(max(step["grad_norm"] for step in metrics))
            row["skipped"].append(sum(step["skipped_updates"] for step in metrics))
        rows.append(row)
    return rows


def change(config: TrainConfig, entries: Mapping[str, Any]) -> TrainConfig:
    """Return a configuration with some entries replaced, including entries of its stages."""
    stages = {name: value for name, value in entries.items() if name in _STAGES}
    others = {name: value for name, value in entries.items() if name not in _STAGES}
    return replace(config, **others, stages=replace(config.stages, **stages))


def measure(learner: Any, tasks: int) -> float:
    """Return the mean success over the rungs, on held-out tasks of each."""
    from ..agents.grpo.rollouts.context_check import token_limits
    from ..agents.grpo.warmup import measure_variance

    config, found = learner.config, []
    for rung in RUNGS:
        environments = make_environments(replace(config, axes={**LADDER.fixed, LADDER.axis: rung}), "test")
        variance = measure_variance(learner.language, environments, 0, token_limits(config), 1, groups=tasks)
        found.append(variance.success)
    return float(np.mean(found))
