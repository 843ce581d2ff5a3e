"""Rules by which the reference policy follows the policy: never, or by a share after an optimiser batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....checks import check_count, check_number
from ..recipes.stages import REFERENCES


class ReferenceRule:
    """Base of the rules; a subclass that remembers something also overrides the two state methods."""

    def after_step(self, step: int, metrics: Mapping[str, float]) -> float | None:
        """Return the share by which the reference moves to the policy after optimiser batch ``step`` (from 1): 1 to
        replace it, None to leave it.

        ``metrics`` are the step's, and "validation" (success on the test split) where it was measured just now.
        """
        raise NotImplementedError

    clears_optimizer: bool = False
    """True if the optimiser starts anew when the reference is replaced."""
    moves: bool = True
    """False if the reference stays the starting policy."""

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        return


@REFERENCES.register("frozen")
class Frozen(ReferenceRule):
    """The starting policy throughout."""

    moves = False

    def after_step(self, step: int, metrics: Mapping[str, float]) -> float | None:
        return None


@REFERENCES.register("ema")
class MovingAverage(ReferenceRule):
    """ref <- alpha ref + (1 - alpha) pi after every optimiser batch (T1's dynamic anchor, arXiv 2501.11651; the soft
    update of TR-DPO, arXiv 2404.09656, section 3).

    ``alpha`` = 1 leaves the reference where it is, 0 makes it the policy itself.
    """

    def __init__(self, alpha: float = 0.99):
        self.alpha = check_number("alpha", alpha, 0.0, 1.0)

    def after_step(self, step: int, metrics: Mapping[str, float]) -> float | None:
        return None if self.alpha == 1 else 1 - self.alpha


@REFERENCES.register("previous")
class Previous(MovingAverage):
    """The policy before the current optimiser batch: KL to it measures the size of the step."""

    def __init__(self) -> None:
        super().__init__(alpha=0.0)


@REFERENCES.register("periodic")
class Periodic(ReferenceRule):
    """Replaced by the policy after every ``every``-th optimiser batch (TR-DPO's hard update, arXiv 2404.09656, section
    3).

    Args:
        clear: whether the optimiser starts anew each time.
    """

    def __init__(self, every: int = 200, clear: bool = False):
        self.every = check_count("every", every, 1, "optimiser batches")
        self.clears_optimizer = clear

    def after_step(self, step: int, metrics: Mapping[str, float]) -> float | None:
        return 1.0 if step % self.every == 0 else None


@REFERENCES.register("at_step")
class AtStep(ReferenceRule):
    """Replaced once, by the policy after optimiser batch ``step`` (ReMix's reincarnation, arXiv 2507.06892, section
    4.3).
    """

    def __init__(self, step: int = 50, clear: bool = False):
        self.step = check_count("step", step, 1, "optimiser batches")
        self.clears_optimizer = clear

    def after_step(self, step: int, metrics: Mapping[str, float]) -> float | None:
        return 1.0 if step == self.step else None


@REFERENCES.register("on_stall")
class OnStall(ReferenceRule):
    """Replaced, and the optimiser cleared, when success on the test split has not risen for a while (ProRL, arXiv
    2505.24864, section 2.3.1).

    A stall is ``patience`` measurements in a row that do not exceed the best since the last reset by more than
    ``min_gain``. The best starts from the first measurement after a reset, so a reset happens at most once in
    ``patience`` measurements.
    """

    clears_optimizer = True

    def __init__(self, patience: int = 3, min_gain: float = 0.0):
        self.patience = check_count("patience", patience, 1, "measurements")
        self.min_gain = check_number("min_gain", min_gain, 0.0)
        self._best: float | None = None
        self._since = 0

    def after_step(self, step: int, metrics: Mapping[str, float]) -> float | None:
        if "validation" not in metrics:
            return None
        now = float(metrics["validation"])
        if self._best is None or now > self._best + self.min_gain:
            self._best, self._since = now, 0
            return None
        self._since += 1
        if self._since < self.patience:
            return None
        self._best, self._since = None, 0
        return 1.0

    def state_dict(self) -> dict[str, Any]:
        return {"best": self._best, "since": self._since}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._best, self._since = state["best"], state["since"]
