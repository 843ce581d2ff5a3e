"""Recipes with rewards inside an episode: implicit ones, those of turns, steps known to be wrong."""

from __future__ import annotations

from .recipe import Credit, Recipe, c, register_recipe

register_recipe(
    Recipe(
        name="prime",
        paper="PRIME, arXiv 2502.01456",
        summary="outcome and implicit process rewards, the latter times 5 as in the released scripts, leave-one-out, "
        "whitened; a second copy of the policy learns them from outcomes; strictly on-policy, one update a batch",
        filters=(c("pass_rate", low=0.2, high=0.8),),
        credit=(
            Credit(baseline=c("leave_one_out"), scale=c("none")),
            Credit(c("implicit_token", beta=0.05), c("token_rate"), c("none"), coefficient=5.0),
        ),
        adjustments=(c("whiten"),),
        auxiliaries=(c("implicit_prm", objective="ce"),),
        reduction=c("token_mean"),
        refill=4,
    )
)
register_recipe(
    Recipe(
        name="istar",
        paper="iStar, arXiv 2509.19199",
        summary="advantage of the episode plus that of each turn's implicit reward, normalised apart; the reward model "
        "learns from pairs of episodes",
        credit=(Credit(), Credit(returns=c("implicit_turn", beta=0.05))),
        auxiliaries=(c("implicit_prm", objective="pairwise"),),
    )
)
register_recipe(
    Recipe(
        name="pure",
        paper="PURE, arXiv 2504.15275",
        summary="rewards of turns credited by their soft minimum, plus the verdict, both leave-one-out; KL in the loss",
        credit=(
            Credit(c("min_form", temperature=0.1), c("token_rate"), c("none")),
            Credit(c("success"), c("leave_one_out"), c("none")),
        ),
        regularisers=(c("kl_k2", coefficient=0.001),),
        reduction=c("token_mean"),
        minibatches=2,
    )
)
register_recipe(
    Recipe(
        name="tp_grpo",
        paper="Smarter Not Harder (TP-GRPO), arXiv 2507.23317",
        summary="the outcome is normalised within the group, labels of steps are not: wrong thoughts of won episodes "
        "lose half of the group's accuracy (a strength that is not stated), right ones of lost episodes are spared",
        shaping=(c("thoughts", weight=0.5),),
        credit=(
            Credit(returns=c("success"), scale=c("group_std", ddof=0, eps=1e-8)),
            Credit(c("process_to_go"), c("none"), c("none")),
        ),
    )
)
_BY_PART = Credit(c("token_return"), c("none"), c("none"))
"""Returns of tokens, compared by whitening over the batch as in REINFORCE++."""
register_recipe(
    Recipe(
        name="mrt",
        paper="MRT, arXiv 2503.07572",
        summary="each part of the reasoning earns the rise in the success of an answer forced after it, beside the "
        "outcome; whitened over the batch",
        shaping=(c("mrt", weight=0.5),),
        credit=(_BY_PART,),
        adjustments=(c("whiten"),),
        reduction=c("token_mean"),
    )
)
register_recipe(
    Recipe(
        name="vsrm",
        paper="VSRM, arXiv 2508.10293",
        summary="each part of the reasoning earns the next change in the success of a forced answer, beside the "
        "outcome; whitened over the batch, as in REINFORCE++",
        shaping=(c("vsrm"),),
        credit=(_BY_PART,),
        adjustments=(c("whiten"),),
        reduction=c("token_mean"),
    )
)
