"""Recipes for a sampler that is not the policy at the beginning of the update: another engine, or an older version.

All but `m2po` and `opsm` take the policy at the beginning of the update as the anchor of the ratios and leave the gap
to the corrector.
"""

from __future__ import annotations

from .recipe import Recipe, c, register_recipe


def _make_recipe(name: str, paper: str, summary: str, corrector: str, updates: int = 1, **params: object) -> Recipe:
    return Recipe(
        name=name,
        paper=paper,
        summary=f"for stale samplers: {summary}; token mean, no KL",
        anchor="policy",
        corrector=c(corrector, **params),
        reduction=c("token_mean"),
        minibatches=updates,
    )


for _recipe in (
    _make_recipe(
        "decoupled_ppo",
        "AReaL, arXiv 2505.24298",
        "the clip around the policy, times the weight of the gap",
        "importance",
        updates=4,
    ),
    _make_recipe(
        "tis",
        "Your Efficient RL Framework Secretly Brings You Off-Policy RL Training, Yao et al. 2025",
        "weights of the gap capped at 2",
        "truncated_is",
        updates=16,
        cap=2.0,
    ),
    _make_recipe(
        "seq_tis",
        "When Speed Kills Stability, Liu et al. 2025",
        "the weight of the whole episode, capped at 2",
        "truncated_is",
        cap=2.0,
        level="sequence",
    ),
    _make_recipe(
        "mis",
        "When Speed Kills Stability, Liu et al. 2025",
        "tokens with a weight above 2 are dropped",
        "masked_is",
        cap=2.0,
    ),
    _make_recipe(
        "seq_mis",
        "When Speed Kills Stability, Liu et al. 2025",
        "episodes with a weight above 3 are dropped (TRL 1.16's default)",
        "masked_is",
        cap=3.0,
        level="sequence",
    ),
    _make_recipe(
        "icepop",
        "Ring-1T, arXiv 2510.18855",
        "tokens with a weight outside [0.5, 5] are dropped",
        "icepop",
        low=0.5,
        high=5.0,
    ),
    _make_recipe(
        "geo_mask",
        "When Speed Kills Stability, Liu et al. 2025",
        "episodes whose mean weight lies outside [0.99, 1.01] are dropped, the others' tokens weighted up to 2",
        "both",
        first=c("geometric_band", low=0.99, high=1.01),
        second=c("truncated_is", cap=2.0),
    ),
    Recipe(
        name="opsm",
        paper="DeepSeek-V3.2, arXiv 2512.02556",
        summary="failed episodes that the policy has moved away from by 0.1 nats a token are dropped; unbiased KL",
        corrector=c("opsm", delta=0.1),
        regularisers=(c("kl_k3_unbiased", coefficient=1e-3),),
        minibatches=16,
    ),
    Recipe(
        name="m2po",
        paper="M2PO, arXiv 2510.01161",
        summary="of the tokens that a clip could stop, those of the largest log-ratios are dropped until the mean "
        "square is 0.04; no clip, token mean, no KL",
        corrector=c("m2po", limit=0.04),
        surrogate=c("ratio"),
        reduction=c("token_mean"),
        minibatches=4,
    ),
):
    register_recipe(_recipe)
