"""`UpdateCounter`: mixin for rewards that change during training; stores and saves the number of the current update."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import InputError
from ..schedules import ScheduleLike, schedule
from .reward import Reward


class UpdateCounter(Reward):
    """Mixin that stores the current update ``step`` of ``steps``; both are 0 (unknown) until `advance` is called."""

    step: int = 0
    steps: int = 0

    def now(self, value: ScheduleLike) -> float:
        """Return the value of a schedule at the current update."""
        return schedule(value)(self.step, self.steps)

    def advance(self, step: int, steps: int) -> None:
        self.step, self.steps = step, steps
        super().advance(step, steps)

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "step": self.step, "steps": self.steps}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if not {"step", "steps"} <= set(state):
            raise InputError(f"the saved state of {self.name!r} needs 'step' and 'steps', but has {sorted(state)}.")
        super().load_state_dict({key: value for key, value in state.items() if key not in ("step", "steps")})
        self.step, self.steps = int(state["step"]), int(state["steps"])
