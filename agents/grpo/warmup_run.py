"""The warm-up of a run in its folder: it is saved now and then, and one that was interrupted goes on to the same bits.

Each step draws its random numbers from the seed and its own number, so that weights, optimiser and the number of the
step are all that is saved.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import torch

from ..language.model import LanguageModel
from .collection import token_limits
from .config import TrainConfig
from .optimizers import make_optimizer, widen_gradients
from .ranks.optimizer_steps import OPTIMIZER
from .rollouts.environments import Environments
from .run.folder import RunFolder, checkpoint_errors
from .run.observers import TrainingProgress
from .warmup import warm_up

_LEAST, _SHARE = 1.0, 0.05
"""Seconds between two savings at least, and the share of the time that they may take."""


def run_warm_up(
    folder: RunFolder,
    language: LanguageModel,
    environments: Environments,
    config: TrainConfig,
    watch: Callable[[TrainingProgress], None],
    stopped: Callable[[], bool],
) -> bool:
    """Warm the policy up in place, from where the folder's newest state of the warm-up is. Return False if stopped.

    Args:
        language: the policy as it was begun with, or of that state.
        stopped: asked after each step.
    """
    most = config.warmup.most_steps(config.model)
    widen_gradients(language.model.parameters())
    optimizer = make_optimizer(language.model.parameters(), lr=config.warmup.lr)
    done, success = _restore(folder, optimizer)
    if success >= config.warmup.target:
        return True
    saved, cost = time.monotonic(), 0.0
    for row in warm_up(language, environments, config.warmup, most, config.seed, token_limits(config), optimizer, done):
        step = int(row["step"])
        watch(TrainingProgress("warmup", step, most, row))
        last = step == most or row.get("success", 0.0) >= config.warmup.target
        now = time.monotonic()
        if last or stopped() or now - saved > max(_LEAST, cost / _SHARE):
            with folder.warm_up_checkpoint(step) as place:
                language.save(place)
                torch.save(optimizer.state_dict(), place / OPTIMIZER)
                (place / "state.json").write_text(json.dumps(row), encoding="utf-8")
            saved = time.monotonic()
            cost = saved - now
        if stopped():
            return False
    return True


def _restore(folder: RunFolder, optimizer: torch.optim.Optimizer) -> tuple[int, float]:
    """Load the optimiser's newest state; return the steps that were taken, and the success measured at the last."""
    place = folder.newest_warm_up()
    if place is None:
        return 0, 0.0
    with checkpoint_errors(place):
        optimizer.load_state_dict(torch.load(place / OPTIMIZER, weights_only=True))
        row = json.loads(Path(place / "state.json").read_text(encoding="utf-8"))
        return int(row["step"]), float(row.get("success", 0.0))
