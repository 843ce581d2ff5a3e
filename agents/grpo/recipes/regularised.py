"""Recipes that differ in their penalties: divergences, entropy, and shields of unlikely tokens."""

from __future__ import annotations

from .recipe import Recipe, c, register_recipe

for _recipe in (
    Recipe(
        name="grpo_k2",
        paper="On the Design of KL-Regularized Policy Gradient, arXiv 2505.17508",
        summary="GRPO with the KL estimate whose gradient is that of the divergence",
        regularisers=(c("kl_k2", coefficient=0.04),),
    ),
    Recipe(
        name="grpo_full_kl",
        paper="DeepSeekMath, arXiv 2402.03300",
        summary="GRPO with the KL over the whole vocabulary instead of an estimate",
        regularisers=(c("kl_full", coefficient=0.04),),
    ),
    Recipe(
        name="skywork_or1",
        paper="Skywork-OR1, arXiv 2505.22312",
        summary="entropy bonus that aims at 0.2 nats; token mean, groups without variance dropped; strictly on- "
        "policy, one update a batch",
        filters=(c("mixed_outcomes"),),
        regularisers=(c("entropy_target", target=0.2, step=0.005),),
        reduction=c("token_mean"),
    ),
    Recipe(
        name="lp_reg",
        paper="Lp-Reg, arXiv 2510.03222",
        summary="no lower clip; unlikely tokens of failures that are no noise are shielded by a KL from the old policy "
        "without its noise; token mean; strictly on-policy, one update a batch",
        surrogate=c("lp_reg", largest=10.0),
        regularisers=(c("low_prob_shield", coefficient=1.0, share=0.01, kappa=0.02),),
        reduction=c("token_mean"),
    ),
    Recipe(
        name="clpo_kl",
        paper="CLPO, arXiv 2509.25004",
        summary="half the KL on tasks of which at most 0.3 succeed; --teacher clpo adds the rewritten questions",
        regularisers=(c("kl_by_difficulty", coefficient=1e-3, hard=0.5, border=0.3),),
    ),
    Recipe(
        name="one_shot_rlvr",
        paper="1-shot RLVR, arXiv 2504.20571",
        summary="small KL and a small entropy bonus, made for training on one task",
        regularisers=(c("kl_k3", coefficient=1e-3), c("entropy_bonus", coefficient=1e-3)),
    ),
):
    register_recipe(_recipe)
