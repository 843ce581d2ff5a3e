"""Recipes with a critic or a model of token rewards."""

from __future__ import annotations

from .recipe import Credit, Recipe, Stream, c, register_recipe, schedule

register_recipe(
    Recipe(
        name="ppo",
        paper="PPO, arXiv 1707.06347",
        summary="advantages of tokens from a critic by GAE, whitened over the batch, three epochs; no groups, no KL; "
        "the critic is a head that does not train the policy",
        credit=(Credit(c("gae", discount=1.0, decay=0.95), c("none"), c("whiten")),),
        auxiliaries=(c("critic", discount=1.0, decay=0.95),),
        reduction=c("token_mean"),
        epochs=3,
        minibatches=4,
    )
)
register_recipe(
    Recipe(
        name="reft",
        paper="ReFT, arXiv 2401.08967",
        summary="imitation of the oracle for 40 updates, then PPO with KL to where that ended in the reward of each "
        "token, and 0.1 for a wrong number; the critic is a head that does not train the policy",
        shaping=(c("partial-number"),),
        credit=(Credit(c("kl_gae", beta=0.05, discount=1.0, decay=0.95), c("none"), c("whiten")),),
        auxiliaries=(c("critic", discount=1.0, decay=0.95, beta=0.05),),
        reduction=c("token_mean"),
        streams=(Stream(c("oracle"), coefficient=schedule("piecewise", points=((39, 1.0), (40, 0.0)))),),
        rollout_share=schedule("piecewise", points=((39, 0.0), (40, 1.0))),
        reference=c("at_step", step=40, clear=True),
        epochs=2,
    )
)
register_recipe(
    Recipe(
        name="oreal",
        paper="OREAL, arXiv 2502.06781",
        summary="one success and one failure of a task, leave-one-out: imitation and half of the policy gradient, each "
        "averaged apart, tokens weighed by a reward learned from outcomes (a head on the policy); small KL",
        filters=(c("one_of_each"),),
        credit=(Credit(baseline=c("leave_one_out"), scale=c("none")),),
        adjustments=(c("token_reward_weight", positive=1.0, negative=0.5),),
        # Successes are imitated whatever their ratio; failures have the ratio's own gradient.
        surrogate=c("topr", level="token", positive=(1.0, 1.0), negative=(0.0, 1e6)),
        regularisers=(c("kl_k3", coefficient=0.01),),
        auxiliaries=(c("token_reward", lr=2e-3),),
        reduction=c("token_mean"),
    )
)
