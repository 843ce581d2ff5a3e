"""KL to the reference policy, estimated from the sampled token; d = log ref - log pi, in nats.

Among the single-sample estimates only k2 has the gradient of KL(pi || ref) when it stands in a loss; k3's is that of
KL(ref || pi), and k1's has mean zero whatever the reference says, so a recipe with k1 in its loss is refused. The
straight-through forms report one estimate and have the gradient of k2; the full divergence needs no estimate.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from ...batch.scored import LossTerm, Scored, needs
from ...recipes.stages import REGULARISERS
from ..surrogates.ratios import bounded_exp, ratio_of


def k1(d: Tensor) -> Tensor:
    """-d, unbiased."""
    return -d


def k2(d: Tensor) -> Tensor:
    """d^2 / 2 (Schulman 2020, "Approximating KL divergence")."""
    return d**2 / 2


def k3(d: Tensor) -> Tensor:
    """exp(d) - d - 1, unbiased and never negative."""
    return bounded_exp(d) - d - 1


ESTIMATES: dict[str, Callable[[Tensor], Tensor]] = {"k1": k1, "k2": k2, "k3": k3}


def gap(scored: Scored) -> Tensor:
    """d, [A], with gradient."""
    assert scored.logp_ref is not None
    return scored.logp_ref - scored.logp


def penalty(kl: Tensor, coefficient: Tensor | float, name: str = "kl") -> LossTerm:
    """coefficient x kl, and the mean of ``kl`` as a statistic."""
    return LossTerm(coefficient * kl, {name: (kl.sum().item(), kl.numel())})


@REGULARISERS.register("kl_k3")
@needs("logp_ref", "every_row")
def kl_k3(scored: Scored, coefficient: float = 0.04) -> LossTerm:
    """exp(d) - d - 1, the low-variance estimate of KL(pi || ref) (GRPO, arXiv 2402.03300, eq. 4)."""
    return penalty(k3(gap(scored)), coefficient)


@REGULARISERS.register("kl_k2")
@needs("logp_ref", "every_row")
def kl_k2(scored: Scored, coefficient: float = 0.04) -> LossTerm:
    """d^2 / 2: on-policy its gradient is that of KL(pi || ref)."""
    return penalty(k2(gap(scored)), coefficient)


@REGULARISERS.register("kl_k1")
@needs("logp_ref", "every_row")
def kl_k1(scored: Scored, coefficient: float = 0.04) -> LossTerm:
    """log pi - log ref. In a loss its expected gradient is zero, so recipes that place it there are refused."""
    return penalty(k1(gap(scored)), coefficient)


@REGULARISERS.register("kl_abs")
@needs("logp_ref", "every_row")
def kl_abs(scored: Scored, coefficient: float = 0.04) -> LossTerm:
    """|d|."""
    return penalty(gap(scored).abs(), coefficient)


@REGULARISERS.register("kl_k3_unbiased")
@needs("logp_ref", "every_row")
def kl_k3_unbiased(scored: Scored, coefficient: float = 0.04) -> LossTerm:
    """r k3 with r = pi / pi_old, differentiated through r too: value and gradient of KL(pi || ref) in expectation over
    pi_old, off-policy as well (DeepSeek-V3.2, arXiv 2512.02556, section 3.1).
    """
    return penalty(ratio_of(scored) * k3(gap(scored)), coefficient)


@REGULARISERS.register("kl_straight")
@needs("logp_ref", "every_row")
def kl_straight(scored: Scored, coefficient: float = 0.04, estimate: str = "k3") -> LossTerm:
    """The value of "k1" or "k3" with the gradient of k2."""
    d = gap(scored)
    gradient = k2(d)
    return penalty(ESTIMATES[estimate](d).detach() + gradient - gradient.detach(), coefficient)


@REGULARISERS.register("kl_full")
@needs("kl_ref", "every_row")
def kl_full(scored: Scored, coefficient: float = 0.04) -> LossTerm:
    """KL(pi || ref) over the whole vocabulary at each token, with its exact gradient."""
    assert scored.kl_ref is not None
    return penalty(scored.kl_ref, coefficient)


@REGULARISERS.register("kl_forward")
@needs("logp_ref", "every_row")
def kl_forward(scored: Scored, coefficient: float = 0.04) -> LossTerm:
    """KL(ref || pi): the estimate d exp(d) - exp(d) + 1, never negative, with the gradient -(exp(d) - 1) grad log pi,
    both right in expectation over pi.
    """
    d = gap(scored)
    ratio = bounded_exp(d)
    gradient = k3(d)
    return penalty((d * ratio - ratio + 1).detach() + gradient - gradient.detach(), coefficient)
