"""Recipes that train on another reward with GRPO's update."""

from __future__ import annotations

from .recipe import Credit, Recipe, c, register_recipe

register_recipe(
    Recipe(
        name="ttrl",
        paper="TTRL, arXiv 2504.16084",
        summary="no labels: 1 for the answer that most of the group gave, 0 otherwise",
        shaping=(c("majority-vote"),),
    )
)
register_recipe(
    Recipe(
        name="evol_rl",
        paper="EVOL-RL, arXiv 2509.15194",
        summary="no labels: the majority's answer earns, and more where it was reached differently; clip-higher",
        shaping=(c("evol-rl"),),
        surrogate=c("clip", low=0.2, high=0.28),
    )
)
register_recipe(
    Recipe(
        name="unlikeliness",
        paper="Rewarding the Unlikely, arXiv 2506.02355",
        summary="a success that was likelier than the group's others earns up to a quarter less; no KL",
        shaping=(c("unlikeliness"),),
    )
)
register_recipe(
    Recipe(
        name="grpo_lambda_length",
        paper="Stable Reinforcement Learning for Efficient Reasoning (GRPO-λ), arXiv 2505.18086",
        summary="short successes earn more in groups that succeed often; the others learn from the outcome alone",
        shaping=(c("grpo-lambda"),),
    )
)
register_recipe(
    Recipe(
        name="kimi_length",
        paper="Kimi k1.5, arXiv 2501.12599, section 2.3.3",
        summary="a term for being shorter than the group's others, for successes only where positive; no KL",
        shaping=(c("relative-length"),),
    )
)
register_recipe(
    Recipe(
        name="cosine_length",
        paper="Demystifying Long Chain-of-Thought Reasoning in LLMs, arXiv 2502.03373",
        summary="reward falls with a success's length and rises with a failure's, along a cosine",
        shaping=(c("cosine-length"),),
    )
)
register_recipe(
    Recipe(
        name="train_long_think_short",
        paper="Train Long, Think Short, arXiv 2508.08940",
        summary="a token budget that shrinks during training: reward peaks where the length meets it",
        shaping=(c("train-long-think-short"),),
        regularisers=(c("kl_k3", coefficient=0.04),),
    )
)
register_recipe(
    Recipe(
        name="observe_r1",
        paper="Observe-R1, arXiv 2505.12432",
        summary="a bonus for the shortest success of a group",
        shaping=(c("shortest-correct"),),
    )
)
register_recipe(
    Recipe(
        name="gdpo",
        paper="GDPO, arXiv 2601.05242",
        summary="each reward is normalised within its group, then their sum over the batch; here outcome and relative "
        "length; no KL",
        shaping=(c("normalize", outcome=c("outcome"), length=c("relative-length")),),
        credit=(Credit(baseline=c("none"), scale=c("whiten_units")),),
    )
)
