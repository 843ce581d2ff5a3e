"""Recipes that treat the tokens of an episode differently: by entropy, probability, or the KL that follows them."""

from __future__ import annotations

from .recipe import Credit, Recipe, c, register_recipe

register_recipe(
    Recipe(
        name="eighty_twenty",
        paper="Beyond the 80/20 Rule, arXiv 2506.01939",
        summary="DAPO on the fifth of the tokens with the highest entropy, averaged over those",
        shaping=(c("overlong"),),
        filters=(c("mixed_outcomes"),),
        masks=(c("top_entropy", share=0.2),),
        surrogate=c("clip", low=0.2, high=0.28),
        reduction=c("token_mean"),
        refill=4,
        minibatches=16,
    )
)
register_recipe(
    Recipe(
        name="entropy_advantage",
        paper="Reasoning with Exploration: An Entropy Perspective, arXiv 2506.14758",
        summary="advantages grow by min(0.4 H, |A| / 2) of each token's entropy H",
        adjustments=(c("entropy_shaped", alpha=0.4, kappa=2.0),),
        surrogate=c("clip", low=0.2, high=0.28),
        reduction=c("token_mean"),
    )
)
register_recipe(
    Recipe(
        name="frpo",
        paper="PRL / FRPO, arXiv 2601.10201",
        summary="the KL of all that follows a token is subtracted from its advantage, instead of a penalty in the loss",
        adjustments=(c("suffix_kl", beta=0.005, chunk=256),),
    )
)
register_recipe(
    Recipe(
        name="pro_grpo",
        paper="ProGRPO, arXiv 2602.05281",
        summary="answers are reinforced less, the surer the policy was of them than of the question (the strength is "
        "not stated)",
        adjustments=(c("confidence", alpha=0.1, share=0.2),),
    )
)
register_recipe(
    Recipe(
        name="verl_rank",
        paper="VERL (velocity-exploiting rank learning), arXiv 2509.23808",
        summary="advantages grow by at most half with the effective rank of hidden states and its rate of change",
        adjustments=(c("hidden_rank", kappa=2.0, decay=0.7, stride=20),),
    )
)
register_recipe(
    Recipe(
        name="stable_reinforce",
        paper="StableReinforce (R1-Reward), arXiv 2505.02835",
        summary="whitened outcomes, those beyond three deviations dropped, and a ratio cut before its exponential",
        credit=(Credit(baseline=c("none"), scale=c("whiten_units")),),
        adjustments=(c("sigma_filter", sigmas=3.0),),
        surrogate=c("clip_preclipped", low=0.2, high=0.2, largest=1000.0),
        reduction=c("token_mean"),
    )
)
register_recipe(
    Recipe(
        name="vogue",
        paper="VOGUE (DUPL), arXiv 2510.01444",
        summary="each task is played again in other words, less and less often; advantages grow with the entropy of a "
        "token, and there also with how much the wording changes its distribution",
        rollout=c("perturbed_twin", start=1.0, changes=3),
        adjustments=(c("dual_uncertainty", alpha=0.4, kappa=2.0, twin_alpha=1.0, twin_kappa=2.0),),
    )
)
