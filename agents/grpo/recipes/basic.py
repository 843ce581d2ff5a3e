"""The first group-relative recipes: GRPO and its direct variants."""

from __future__ import annotations

from .recipe import Credit, Recipe, c, register_recipe

register_recipe(
    Recipe(
        name="grpo",
        paper="DeepSeekMath, arXiv 2402.03300",
        summary="group-normalised advantages, symmetric clip, mean over each sequence, KL to the starting policy; "
        "strictly on-policy, one update a batch",
        regularisers=(c("kl_k3", coefficient=0.04),),
    )
)
register_recipe(
    Recipe(
        name="dr_grpo",
        paper="Understanding R1-Zero-Like Training, arXiv 2503.20783",
        summary="no division by the standard deviation nor by length, no KL",
        credit=(Credit(scale=c("none")),),
        reduction=c("constant"),
        minibatches=8,
    )
)
register_recipe(
    Recipe(
        name="dapo",
        paper="DAPO, arXiv 2503.14476",
        summary="clip-higher, mean over tokens, groups without variance replaced, soft overlong punishment, no KL",
        shaping=(c("overlong"),),
        filters=(c("mixed_outcomes"),),
        surrogate=c("clip", low=0.2, high=0.28),
        reduction=c("token_mean"),
        refill=4,
        minibatches=16,
    )
)
register_recipe(
    Recipe(
        name="rloo",
        paper="Back to Basics, arXiv 2402.14740",
        summary="leave-one-out baseline, plain REINFORCE on whole episodes, no clip, no KL in the loss",
        credit=(Credit(baseline=c("leave_one_out"), scale=c("none")),),
        surrogate=c("reinforce"),
        reduction=c("sequence_sum"),
    )
)
