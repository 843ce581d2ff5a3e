"""Recipes whose episodes share beginnings, and those that value the states along an episode."""

from __future__ import annotations

from .recipe import Credit, Recipe, c, register_recipe

register_recipe(
    Recipe(
        name="cure",
        paper="CURE, arXiv 2508.11016",
        summary="a quarter of the group is sampled, the rest goes on from an uncertain token of each; copied tokens "
        "are not trained, clip-higher, mean over tokens, no KL (its second stage is dapo)",
        rollout=c("entropy_branch", children=3, top=20),
        surrogate=c("clip", low=0.2, high=0.28),
        reduction=c("token_mean"),
    )
)
register_recipe(
    Recipe(
        name="arpo",
        paper="ARPO, arXiv 2507.19849",
        summary="half of the group is sampled, the rest branches off where the environment's answer has raised the "
        "entropy; shared tokens have the mean advantage of those that share them, no KL",
        rollout=c("tool_branch", initial=0.5, beam=2, base=0.5, weight=0.2),
        adjustments=(c("shared_mean"),),
        minibatches=8,
    )
)
register_recipe(
    Recipe(
        name="branch_grpo",
        paper="BranchGRPO, arXiv 2509.06040",
        summary="one tree that doubles at four splits; a stretch is credited with the value of the node it leads to, "
        "normalised within its depth",
        rollout=c("split_tree", roots=1, width=2, splits=4, at="token"),
        credit=(Credit(c("node_return"), c("group_mean", by="depth"), c("group_std", ddof=1, eps=1e-8, by="depth")),),
    )
)
register_recipe(
    Recipe(
        name="tree_rpo",
        paper="TreeRPO, arXiv 2506.05183",
        summary="a tree split at fixed distances; a stretch is credited with the mean outcome below it, normalised "
        "among its siblings",
        rollout=c("split_tree", roots=1, width=2, splits=4, at="token", copies="once"),
        credit=(
            Credit(c("node_return"), c("group_mean", by="siblings"), c("group_std", ddof=0, eps=1e-4, by="siblings")),
        ),
    )
)
register_recipe(
    Recipe(
        name="tree_grpo",
        paper="Tree-GRPO, arXiv 2509.21240",
        summary="trees that are expanded at random turns; outcomes are normalised over the group, plus node values "
        "among siblings for the comparison within a tree",
        rollout=c("random_tree", expand=2, rounds=1, at="turn", copies="each"),
        credit=(
            Credit(),
            Credit(c("node_return"), c("group_mean", by="siblings"), c("group_std", ddof=1, eps=1e-4, by="siblings")),
        ),
    )
)
register_recipe(
    Recipe(
        name="vine_ppo",
        paper="VinePPO, arXiv 2410.01679",
        summary="each line is credited with the gain in value, estimated by nine further answers from either end; "
        "mean over tokens, a small KL",
        rollout=c("vine", at="line", continuations=9),
        credit=(Credit(c("segment_gain"), c("none"), c("none")),),
        regularisers=(c("kl_k3", coefficient=1e-4),),
        reduction=c("token_mean"),
        minibatches=8,
        epochs=2,
    )
)
register_recipe(
    Recipe(
        name="dense_grpo",
        paper="DenseGRPO, arXiv 2601.20218",
        summary="each turn is credited with the gain in what the greedy continuation earns, normalised among turns of "
        "equal number (without the paper's temperature calibration)",
        rollout=c("vine", at="turn", continuations=1, heat=0.0),
        credit=(Credit(c("segment_gain"), c("group_mean", by="depth"), c("group_std", ddof=1, eps=1e-4, by="depth")),),
    )
)
register_recipe(
    Recipe(
        name="turning_point_grpo",
        paper="TP-GRPO, arXiv 2602.06422",
        summary="as dense_grpo, but a turn at which the gains change from falling to rising is credited with all that "
        "follows",
        rollout=c("vine", at="turn", continuations=1, heat=0.0),
        credit=(Credit(c("turning_point"), c("group_mean", by="depth"), c("group_std", ddof=1, eps=1e-4, by="depth")),),
    )
)
