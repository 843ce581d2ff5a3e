"""Recipes that choose how many episodes are played and which of them are kept."""

from __future__ import annotations

from .recipe import Credit, Recipe, c, register_recipe

register_recipe(
    Recipe(
        name="reinforce_ada",
        paper="Reinforce-Ada, arXiv 2510.04996",
        summary="tasks are sampled in rounds until both outcomes are seen, a balanced few are trained against the mean "
        "of all draws; no standard deviation, clip-higher, no KL",
        rollout=c("adaptive_rounds", mode="balanced", rounds=4, oversample=2.0, threshold=0.7),
        credit=(Credit(baseline=c("drawn_mean"), scale=c("none")),),
        surrogate=c("clip", low=0.2, high=0.28),
        reduction=c("token_mean"),
        minibatches=4,
    )
)
register_recipe(
    Recipe(
        name="reinforce_ada_positive",
        paper="Reinforce-Ada, arXiv 2510.04996",
        summary="the variant that stops at the first success",
        rollout=c("adaptive_rounds", mode="positive", rounds=4, oversample=2.0, threshold=0.7),
        credit=(Credit(baseline=c("drawn_mean"), scale=c("none")),),
        surrogate=c("clip", low=0.2, high=0.28),
        reduction=c("token_mean"),
        minibatches=4,
    )
)
register_recipe(
    Recipe(
        name="grpo_roc",
        paper="GRPO-RoC of rStar2-Agent, arXiv 2508.20722",
        summary="twice the samples are drawn; failures are kept as they come, successes with the fewest tool errors; "
        "groups without variance are left out, clip-higher, no KL",
        rollout=c("resample_on_correct", oversample=2.0, least=2),
        filters=(c("mixed_outcomes"),),
        surrogate=c("clip", low=0.2, high=0.28),
        reduction=c("token_mean"),
    )
)
register_recipe(
    Recipe(
        name="bro_rl",
        paper="BroRL, arXiv 2510.01180",
        summary="ProRL's loss; groups grow, and tasks become fewer, when success no longer rises",
        rollout=c("growing_groups"),
        filters=(c("mixed_outcomes"),),
        surrogate=c("clip", low=0.2, high=0.4),
        regularisers=(c("kl_k3", coefficient=1e-3),),
        reduction=c("token_mean"),
        reference=c("on_stall", patience=3),
        refill=4,
        minibatches=4,
    )
)
