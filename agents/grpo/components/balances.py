"""Balances of imitation and reinforcement: the share mu of a recipe's streams in its loss, moved by feedback.

The coefficient of the rollouts is multiplied by 1 - mu, those of all streams by mu. A number that only follows the step
needs no balance: `Recipe.rollout_share` and `Stream.coefficient` take schedules.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....checks import check_count, check_number
from ....errors import InputError
from ..recipes.stages import BALANCES


@BALANCES.register("none")
class Balance:
    """Leave all coefficients as the recipe has them.

    Attributes:
        share: mu, in [0, 1]; None leaves all coefficients unchanged.
        reads_slope: True if `after_step` needs the slope of the utility, which costs a further pass and a half.
    """

    share: float | None = None
    reads_slope: bool = False

    @property
    def rollouts(self) -> float:
        """Factor on the coefficient of the rollouts."""
        return 1.0 if self.share is None else 1.0 - self.share

    @property
    def streams(self) -> float:
        """Factor on the coefficient of every stream."""
        return 1.0 if self.share is None else self.share

    def after_step(self, entropy: float | None, slope: float) -> dict[str, float]:
        """Move the share after an optimiser batch, and return metrics.

        Args:
            entropy: estimate of the policy's entropy, nats: the mean of -log p of the tokens that it sampled for this
                batch; None if there are none.
            slope: derivative of the utility by mu, in [-1, 1] (`measures.influence.utility_slope`); 0 if not measured.
        """
        return {}

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        return


@BALANCES.register("amft")
class AdaptiveBalance(Balance):
    """mu <- clip(mu + utility_rate x dU/dmu + entropy_rate x (H - target), low, high) after each optimiser batch (AMFT,
    arXiv 2508.06944).

    The entropy H is fed back so that imitation holds a policy that spreads out, and gives way where it narrows. U is
    the return of the policy after one further step, on tasks that this step leaves out: here every other group of the
    batch. The paper differentiates through that step by a validation batch; this is the same to first order, as a
    cosine of gradients of the last layer. Rates are ours, as the paper's are not known.

    Args:
        start: share of imitation at first.
        entropy_rate: change of mu per nat above the target.
        utility_rate: change of mu at a slope of 1; 0 measures no slope.
        target: entropy to hold, nats. None: the mean of the first ``calibration`` steps, in which mu stays.
        calibration: number of these steps.
        low, high: bounds of mu.
    """

    def __init__(
        self,
        start: float = 0.5,
        entropy_rate: float = 0.05,
        utility_rate: float = 0.05,
        target: float | None = None,
        calibration: int = 5,
        low: float = 0.0,
        high: float = 1.0,
    ):
        self.low, self.high = check_number("low", low, 0, 1), check_number("high", high, 0, 1)
        if not low <= start <= high:
            raise InputError(f"start={start} must lie between low={low} and high={high}.")
        self.entropy_rate = check_number("entropy_rate", entropy_rate, 0)
        self.utility_rate = check_number("utility_rate", utility_rate, 0)
        self.share, self.target = float(start), target
        self.calibration = check_count("calibration", calibration, 1, "steps")
        self._seen: list[float] = []

    @property
    def reads_slope(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.utility_rate > 0

    def after_step(self, entropy: float | None, slope: float) -> dict[str, float]:
        assert self.share is not None
        metrics = {"balance": self.share}
        if entropy is None:
            return metrics
        if self.target is None:
            self._seen.append(entropy)
            if len(self._seen) == self.calibration:
                self.target = sum(self._seen) / self.calibration
            return metrics
        moved = self.share + self.utility_rate * slope + self.entropy_rate * (entropy - self.target)
        self.share = min(max(moved, self.low), self.high)
        return {**metrics, "balance_entropy": entropy, "balance_slope": slope}

    def state_dict(self) -> dict[str, Any]:
        return {"share": self.share, "target": self.target, "seen": self._seen}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.share, self.target, self._seen = state["share"], state["target"], list(state["seen"])
