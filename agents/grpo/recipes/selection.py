"""Recipes that sample more than they train on, or leave out groups that teach little."""

from __future__ import annotations

from .recipe import Credit, Recipe, c, register_recipe

register_recipe(
    Recipe(
        name="gfpo",
        paper="GFPO, arXiv 2508.09726",
        summary="of each group only the 8 shortest samples are trained and counted; sample more than 8",
        filters=(c("shortest", keep=8, by="length"),),
        surrogate=c("clip", low=0.2, high=0.2),
        regularisers=(c("kl_k3", coefficient=0.001), c("entropy_bonus", coefficient=0.001)),
        reduction=c("token_mean"),
    )
)
register_recipe(
    Recipe(
        name="pods",
        paper="PODS, arXiv 2504.13818",
        summary="of each group the 4 samples are trained whose outcomes differ most; sample more than 4",
        filters=(c("max_variance", keep=4),),
    )
)
register_recipe(
    Recipe(
        name="cppo",
        paper="CPPO, arXiv 2503.22342",
        summary="the half of each group with the largest advantages is trained; these are those of the whole group",
        filters=(c("largest_advantage", share=0.5),),
        credit=(Credit(baseline=c("drawn_mean"), scale=c("drawn_std")),),
        regularisers=(c("kl_k3", coefficient=0.04),),
    )
)
register_recipe(
    Recipe(
        name="starpo_s",
        paper="RAGEN (StarPO-S), arXiv 2504.20073",
        summary="the quarter of groups with the highest variance, wider clip above, no KL",
        filters=(c("high_variance", share=0.25),),
        surrogate=c("clip", low=0.2, high=0.28),
        reduction=c("token_mean"),
        minibatches=4,
    )
)
