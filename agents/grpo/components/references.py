"""Rules for moving the reference policy towards the policy after an optimiser batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....checks import check_count, check_number
from ..recipes.stages import REFERENCES


class ReferenceRule:
    """Base class of the rules; a subclass with memory must override both state methods too."""

    def after_step(self, step: int, metrics: Mapping[str, float]) -> float | None:
        """Return the share by which the reference moves to the policy after optimiser batch ``step`` (from 1).

        1 replaces the reference, None leaves it unchanged. ``metrics`` are the step's metrics, with "validation"
        (success on the test split) if it was measured after this step.
        """
        raise NotImplementedError

    clears_optimizer: bool = False
    """True if the optimiser's state is cleared when the reference is replaced."""
    returns_policy: bool = False
    """True if the policy returns to the reference each time that the reference has moved."""
    moves: bool = True
    """False if the reference always is the starting policy."""

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        return


@REFERENCES.register("frozen")
class Frozen(ReferenceRule):
    """Keep the starting policy as reference."""

    moves = False

    def after_step(self, step: int, metrics: Mapping[str, float]) -> float | None:
        return None


@REFERENCES.register("ema")
class MovingAverage(ReferenceRule):
    """Move the reference after every optimiser batch: ref <- alpha ref + (1 - alpha) pi (T1's dynamic anchor, arXiv
    2501.11651; the soft update of TR-DPO, arXiv 2404.09656, section 3).

    ``alpha`` = 1 leaves the reference unchanged, 0 replaces it by the policy.
    """

    def __init__(self, alpha: float = 0.99):
        self.alpha = check_number("alpha", alpha, 0.0, 1.0)

    def after_step(self, step: int, metrics: Mapping[str, float]) -> float | None:
        return None if self.alpha == 1 else 1 - self.alpha


@REFERENCES.register("previous")
class Previous(MovingAverage):
    """Use the policy before the current optimiser batch, so that the KL penalty limits the size of the step."""

    def __init__(self) -> None:
        super().__init__(alpha=0.0)


@REFERENCES.register("periodic")
class Periodic(ReferenceRule):
    """Replace the reference by the policy after every ``every``-th optimiser batch (TR-DPO's hard update, arXiv
    2404.09656, section 3).

    Args:
        clear: clear the optimiser's state each time.
    """

    def __init__(self, every: int = 200, clear: bool = False):
        self.every = check_count("every", every, 1, "optimiser batches")
        self.clears_optimizer = clear

    def after_step(self, step: int, metrics: Mapping[str, float]) -> float | None:
        return 1.0 if step % self.every == 0 else None


@REFERENCES.register("at_step")
class AtStep(ReferenceRule):
    """Replace the reference once, by the policy after optimiser batch ``step`` (ReMix's reincarnation, arXiv
    2507.06892, section 4.3).

    Args:
        clear: clear the optimiser's state then.
    """

    def __init__(self, step: int = 50, clear: bool = False):
        self.step = check_count("step", step, 1, "optimiser batches")
        self.clears_optimizer = clear

    def after_step(self, step: int, metrics: Mapping[str, float]) -> float | None:
        return 1.0 if step == self.step else None


@REFERENCES.register("on_stall")
class OnStall(ReferenceRule):
    """Replace the reference and clear the optimiser's state when success on the test split has stopped rising (ProRL,
    arXiv 2505.24864, section 2.3.1).

    Success has stopped rising after ``patience`` measurements in a row that do not exceed the best since the last reset
    by more than ``min_gain``. The first measurement after a reset becomes the best, so resets are at least ``patience``
    + 1 measurements apart.
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


@REFERENCES.register("reptile")
class Reptile(ReferenceRule):
    """Move the reference to the policy by ``share`` after every ``inner`` optimiser batches, and return the policy to
    it: theta <- theta + share (phi - theta), phi being the policy after its inner steps from theta (Reptile, arXiv
    1803.02999; RAMario, arXiv 2305.09655).

    With the teacher "blocks" the inner steps are on one environment, so that theta moves to where few steps suffice for
    each. ``share`` = 1 leaves the policy as it is.

    Args:
        clear: clear the optimiser's state each time.
    """

    returns_policy = True
    needs = frozenset({"logp_ref"})  # the reference must be a model of its own

    def __init__(self, inner: int = 5, share: float = 0.5, clear: bool = False):
        self.inner = check_count("inner", inner, 1, "optimiser batches")
        self.share = check_number("share", share, 0.0, 1.0)
        self.clears_optimizer = clear

    def after_step(self, step: int, metrics: Mapping[str, float]) -> float | None:
        return self.share if step % self.inner == 0 else None
