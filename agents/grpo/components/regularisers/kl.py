"""KL penalties to the reference policy, estimated from the sampled token; d = log ref - log pi, in nats.

Of the single-sample estimates used as a loss, only k2 has the gradient of KL(pi || ref). k3 has the gradient of KL(ref
|| pi). The gradient of k1 has mean zero whatever the reference, so k1 alone is no penalty. The straight-through
variants have the value of one estimate and the gradient of k2. The full divergence needs no estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor

from .....checks import check_number
from ...batch.scored import LossTerm, Scored, needs
from ...recipes.stages import REGULARISERS
from ..loss_arrays import Statistics, regulariser
from ..surrogates.ratios import bounded_exp, probability_ratio


def k1(d: Tensor) -> Tensor:
    """Return -d, unbiased."""
    return -d


def k2(d: Tensor) -> Tensor:
    """Return d^2 / 2 (Schulman 2020, "Approximating KL divergence")."""
    return d**2 / 2


def k3(d: Tensor) -> Tensor:
    """Return exp(d) - d - 1, unbiased and never negative."""
    return bounded_exp(d) - d - 1


ESTIMATES: dict[str, Callable[[Tensor], Tensor]] = {"k1": k1, "k2": k2, "k3": k3}


def penalty(kl_t: Tensor, coefficient: Tensor | float, name: str = "kl") -> tuple[Tensor, Statistics]:
    """Return coefficient x kl, and the mean of ``kl_t`` over all tokens as the statistic ``name``."""
    return coefficient * kl_t, {name: (kl_t.detach().sum(), kl_t.numel())}


@regulariser("kl_k3")
@needs("every_row", "zero_at_reference")
def kl_k3(
    logp_t: Tensor, logp_ref_t: Tensor, coefficient: float = 0.04, clip: float | None = None
) -> tuple[Tensor, Statistics]:
    """exp(d) - d - 1, the low-variance estimate of KL(pi || ref), with d = log ref - log pi (GRPO, arXiv 2402.03300,
    eq. 4).

    The slope with respect to log pi, 1 - exp(d), is unbounded at tokens that pi finds unlikely and ref does not. "kl"
    reports the mean before clipping, "kl_clipped" the share of clipped tokens.

    Args:
        clip: largest value of a token, above which its slope is 0. verl, OpenRLHF and NeMo RL take 10, reached at d =
            2.61 (slope -12.6) and d = -11 (slope 1). None: unbounded, as in the paper.
    """
    value = k3(logp_ref_t - logp_t)
    penalties, statistics = penalty(value, coefficient)
    if clip is None:
        return penalties, statistics
    most = check_number("clip", clip, above=0)
    return coefficient * value.clamp(max=most), {**statistics, "kl_clipped": (value > most).to(value.dtype)}


@regulariser("kl_k2")
@needs("every_row", "zero_at_reference")
def kl_k2(logp_t: Tensor, logp_ref_t: Tensor, coefficient: float = 0.04) -> tuple[Tensor, Statistics]:
    """d^2 / 2 with d = log ref - log pi; its on-policy gradient is the gradient of KL(pi || ref)."""
    return penalty(k2(logp_ref_t - logp_t), coefficient)


@regulariser("kl_abs")
@needs("every_row", "zero_at_reference")
def kl_abs(logp_t: Tensor, logp_ref_t: Tensor, coefficient: float = 0.04) -> tuple[Tensor, Statistics]:
    """Absolute difference |d|, d = log ref - log pi."""
    return penalty((logp_ref_t - logp_t).abs(), coefficient)


@regulariser("kl_k3_unbiased")
@needs("every_row", "zero_at_reference")
def kl_k3_unbiased(
    logp_t: Tensor, logp_old_t: Tensor, logp_ref_t: Tensor, coefficient: float = 0.04
) -> tuple[Tensor, Statistics]:
    """r k3 with r = pi / pi_old, differentiated through r too: in expectation over pi_old it has the value and the
    gradient of KL(pi || ref), off-policy as well (DeepSeek-V3.2, arXiv 2512.02556, section 3.1)."""
    return penalty(probability_ratio(logp_t, logp_old_t) * k3(logp_ref_t - logp_t), coefficient)


@regulariser("kl_straight")
@needs("every_row", "zero_at_reference")
def kl_straight(
    logp_t: Tensor, logp_ref_t: Tensor, coefficient: float = 0.04, estimate: str = "k3"
) -> tuple[Tensor, Statistics]:
    """Value of the estimate "k1" or "k3" of KL(pi || ref), with the gradient of k2 (straight-through)."""
    d = logp_ref_t - logp_t
    gradient = k2(d)
    return penalty(ESTIMATES[estimate](d).detach() + gradient - gradient.detach(), coefficient)


@regulariser("kl_full")
@needs("every_row", "zero_at_reference")
def kl_full(kl_ref_t: Tensor, coefficient: float = 0.04) -> tuple[Tensor, Statistics]:
    """KL(pi || ref) over the whole vocabulary at each token, with its exact gradient."""
    return penalty(kl_ref_t, coefficient)


@regulariser("kl_forward")
@needs("every_row", "zero_at_reference")
def kl_forward(logp_t: Tensor, logp_ref_t: Tensor, coefficient: float = 0.04) -> tuple[Tensor, Statistics]:
    """KL(ref || pi), estimated by d exp(d) - exp(d) + 1 with d = log ref - log pi, never negative; its gradient is
    -(exp(d) - 1) grad log pi. Both are unbiased under pi."""
    d = logp_ref_t - logp_t
    ratio = bounded_exp(d)
    gradient = k3(d)
    return penalty((d * ratio - ratio + 1).detach() + gradient - gradient.detach(), coefficient)


@REGULARISERS.register("kl_target")
@needs("batch", "logp_ref", "every_row", "zero_at_reference")
class KLTarget:
    """d^2 / 2, d = log ref - log pi, times a coefficient that holds KL(pi || ref) at a target (Ziegler et al., arXiv
    1909.08593, section 2.2).

    After each optimiser batch: coefficient <- coefficient x (1 + rate x clip(kl / target - 1, -0.2, 0.2)), kl being the
    mean of log pi - log ref over the trained tokens.

    Args:
        target: divergence to hold, nats per token.
        coefficient: initial coefficient.
        rate: K in the paper.
    """

    def __init__(self, target: float = 0.1, coefficient: float = 0.1, rate: float = 0.1):
        self.target = check_number("target", target, above=0)
        self.coefficient = check_number("coefficient", coefficient, 0)
        self.rate = check_number("rate", rate, 0)

    def __call__(self, scored: Scored) -> LossTerm:
        assert scored.logp_ref is not None
        d, trained = scored.logp_ref - scored.logp, scored.trained
        used = self.coefficient
        if count := int(trained.sum()):
            kl = -d.detach()[trained].sum().item() / count
            self.coefficient *= 1 + self.rate * min(max(kl / self.target - 1, -0.2), 0.2)
        return LossTerm(used * k2(d), {"kl_coefficient": (used, 1)})

    def state_dict(self) -> dict[str, Any]:
        return {"coefficient": self.coefficient}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.coefficient = float(state["coefficient"])
