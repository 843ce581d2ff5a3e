"""Recipes that weigh several objectives against each other as training goes on."""

from __future__ import annotations

from .recipe import Credit, Recipe, c, register_recipe

register_recipe(
    Recipe(
        name="recap",
        paper="RECAP, arXiv 2510.21978",
        summary="reward terms and environments (of one environment, difficulties) whose reward still moves or "
        "fluctuates count more than those that have settled (by a measure of our own, as the paper's is not public); "
        "general data are rehearsed as a further environment, --env-weight 0.7 0.3",
        credit=(Credit(returns=c("prioritised_terms")),),
        weights=(c("priorities", by="environment"),),
    )
)
