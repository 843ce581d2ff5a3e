"""Recipes in which the policy sets the tasks that it solves."""

from __future__ import annotations

from .recipe import Credit, Recipe, c, register_recipe

register_recipe(
    Recipe(
        name="absolute_zero",
        paper="Absolute Zero, arXiv 2505.03335",
        summary="proposer and solver are one model; a proposal that some solve earns what they fail; normalised over "
        "the batch for each role (in the paper for each role and kind of task)",
        rollout=c("self_play", reward="frontier", penalty=-1.0),
        credit=(Credit(baseline=c("by_role"), scale=c("group_std", by="role")),),
    )
)
register_recipe(
    Recipe(
        name="r_zero",
        paper="R-Zero, arXiv 2508.05004",
        summary="a proposal earns 1 - |2p - 1|, p being the solvers' success; GRPO for both roles (one model instead "
        "of two that take turns, and the environment's verdict instead of a vote)",
        rollout=c("self_play", reward="distance", penalty=-1.0),
    )
)
