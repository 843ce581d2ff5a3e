"""Supervised learning as a surrogate: the log-likelihood of tokens that somebody wrote, and distillation."""

from __future__ import annotations

from ...batch.scored import LossTerm, Scored, needs
from ...recipes.stages import SURROGATES
from .ratios import ratio_of


@SURROGATES.register("likelihood")
@needs("every_row")
def likelihood(scored: Scored) -> LossTerm:
    """log pi, whatever the advantage: maximum likelihood, supervised fine-tuning."""
    return LossTerm(scored.logp, {"nll": (-scored.logp.sum().item(), scored.logp.numel())})


@SURROGATES.register("sft_is")
@needs("every_row")
def sft_is(scored: Scored) -> LossTerm:
    """sg(pi) log pi, whatever the advantage: supervised learning with the importance weight of an expert who is certain
    (CHORD, arXiv 2508.11408; DFT, arXiv 2508.05629). The weight is detached.
    """
    return LossTerm(scored.logp.detach().exp() * scored.logp)


@SURROGATES.register("sft_phi")
@needs("every_row")
def sft_phi(scored: Scored) -> LossTerm:
    """sg(pi (1 - pi)) log pi, whatever the advantage: tokens that the policy is unsure of count most (CHORD, arXiv
    2508.11408). The weight is detached.
    """
    p = scored.logp.detach().exp()
    return LossTerm(p * (1 - p) * scored.logp)


@SURROGATES.register("distill")
@needs("logp_teacher", "every_row")
def distill(scored: Scored) -> LossTerm:
    """r sg(log teacher - log pi), whatever the advantage: the policy gradient of -KL(pi || teacher), token by token, on
    the policy's own samples (on-policy distillation; arXiv 2306.13649). The gradient flows through r alone.
    """
    assert scored.logp_teacher is not None
    gap = (scored.logp_teacher - scored.logp).detach()
    stats = {"teacher_gap": (-(gap * scored.trained).sum().item(), scored.trained.sum().item())}
    return LossTerm(ratio_of(scored) * gap, stats)


@SURROGATES.register("entropy_weighted_likelihood")
@needs("batch", "every_row")
def entropy_weighted_likelihood(scored: Scored, scale: float = 0.5, power: float = -1.0) -> LossTerm:
    """scale x exp(power x H) log pi, whatever the advantage, H the mean entropy of the policy at the tokens that are
    trained, detached: an uncertain policy imitates less (SRFT, arXiv 2506.19767: 0.5 exp(-H) on demonstrations).
    """
    trained = scored.trained
    entropy = scored.entropy.detach()
    mean = (entropy * trained).sum() / trained.sum().clamp(min=1)
    return LossTerm(scale * (power * mean).exp() * scored.logp)
