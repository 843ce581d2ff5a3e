"""Settings of the warm-up, apart from its code so that reading a configuration loads no torch."""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import InputError


@dataclass(frozen=True)
class WarmUp:
    """Supervised steps on oracle solutions.

    Attributes:
        steps: most optimiser steps; 0 skips the warm-up; None is 2000 for the tiny model and 0 for any other.
        target: stop once this share of answers, sampled at temperature 1 on training tasks, is right.
        batch: episodes a step.
        lr: learning rate of AdamW, reached over the first 60 steps.
    """

    steps: int | None = None
    target: float = 0.45
    batch: int = 64
    lr: float = 3e-3

    def __post_init__(self) -> None:
        if (self.steps or 0) < 0 or self.batch < 1 or not 0 < self.lr < float("inf") or not 0 < self.target <= 1:
            raise InputError(f"a warm-up needs steps >= 0, batch >= 1, 0 < target <= 1 and a positive lr, not {self}.")

    def most_steps(self, model: str) -> int:
        """The bound on steps for a model named as in the training configuration."""
        return self.steps if self.steps is not None else 2000 if model == "tiny" else 0
