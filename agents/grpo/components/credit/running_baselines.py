"""Baselines with memory: running means of returns by role or task, carried from one optimiser batch to the next.

Each batch is processed as a whole, so the order of its rows does not matter.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from .....errors import InputError
from ...batch.batch import Batch
from ...batch.trajectory import Trajectory
from ...recipes.stages import BASELINES
from .units import Units

_KEYS = {
    "all": lambda trajectory: "",
    "role": lambda trajectory: trajectory.role,
    "task": lambda trajectory: trajectory.task_id,
    "params": lambda trajectory: json.dumps(dict(trajectory.params), sort_keys=True, default=str),
}


class RunningBaseline:
    """Base class of baselines that keep numbers per key of an episode: role, task, parameters, or none."""

    def __init__(self, by: str):
        if by not in _KEYS:
            raise InputError(f"by={by!r} is no key to keep returns by; take one of {', '.join(_KEYS)}.")
        self.by = by
        self.memory: dict[str, list[float]] = {}

    def key(self, trajectory: Trajectory) -> str:
        return str(_KEYS[self.by](trajectory))

    def split(self, units: Units, batch: Batch) -> dict[str, Tensor]:
        """Return the mask of the units of each key, bool [M]."""
        keys = [self.key(batch.trajectories[e]) for e in units.episode.tolist()]
        numbers = {key: i for i, key in enumerate(dict.fromkeys(keys))}
        number = torch.tensor([numbers[key] for key in keys], dtype=torch.int64)
        return {key: number == i for key, i in numbers.items()}

    def state_dict(self) -> dict[str, Any]:
        return {"memory": {key: list(value) for key, value in self.memory.items()}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.memory = {str(key): [float(x) for x in value] for key, value in state["memory"].items()}


@BASELINES.register("ema")
class Ema(RunningBaseline):
    """Running mean of returns per role: b <- decay x b + (1 - decay) x return; the advantage is return - b after that
    update (role-conditioned advantage estimation; SPIRAL, arXiv 2506.24119).

    A batch with n returns of a role counts as n updates with their mean.

    Args:
        decay: in [0, 1).
        by: key of the means: "role", "task" (task id), "params" or "all" (one mean).
        start: value of b before the first update.
    """

    def __init__(self, decay: float = 0.95, by: str = "role", start: float = 0.0):
        super().__init__(by)
        if not 0 <= decay < 1:
            raise InputError(f"decay={decay} of a running mean must be in [0, 1).")
        self.decay = decay
        self.start = start

    def __call__(self, units: Units, batch: Batch) -> Tensor:
        baseline = torch.zeros_like(units.value)
        for key, mine in self.split(units, batch).items():
            (before,) = self.memory.get(key, [self.start])
            stay = self.decay ** int(mine.sum())
            now = stay * before + (1 - stay) * float(units.value[mine].double().mean())
            self.memory[key] = [now]
            baseline[mine] = now
        return baseline


@BASELINES.register("beta_tracker")
class BetaTracker(RunningBaseline):
    """Success rate of each task, tracked by a Beta distribution with forgetting: the baseline is its mean *before* the
    batch, then a <- keep x a + successes, b <- keep x b + failures (single-stream policy optimisation, arXiv
    2509.13232).

    Works with one sample per task. In the paper ``keep`` follows how far the policy has moved, within [0.875, 0.96],
    and the rates start from measurements; here ``keep`` is constant, and an unseen task has rate 1/2 with a weight of 1
    / (1 - 0.875) samples.

    Args:
        keep: share of the evidence that survives an update of the task, in (0, 1].
        by: key of the rates: "task" (task id), "params", "role" or "all" (one rate).
        low, high: returns that count as failure and success; returns between them count in proportion.
    """

    def __init__(self, keep: float = 0.96, by: str = "task", low: float = 0.0, high: float = 1.0):
        super().__init__(by)
        if not 0 < keep <= 1:
            raise InputError(f"keep={keep} of the Beta tracker must be in (0, 1].")
        if high <= low:
            raise InputError(f"the return of a success, high={high}, must exceed that of a failure, low={low}.")
        self.keep, self.low, self.high = keep, low, high

    def __call__(self, units: Units, batch: Batch) -> Tensor:
        baseline = torch.zeros_like(units.value)
        for key, mine in self.split(units, batch).items():
            a, b = self.memory.get(key, [4.0, 4.0])
            baseline[mine] = self.low + (self.high - self.low) * a / (a + b)
            won = ((units.value[mine].double() - self.low) / (self.high - self.low)).clamp(0, 1)
            wins = float(won.sum())
            self.memory[key] = [self.keep * a + wins, self.keep * b + len(won) - wins]
        return baseline
