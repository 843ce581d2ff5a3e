"""Recipes that bound the change of the policy: by a moving reference, or by solutions that it knew before."""

from __future__ import annotations

from .recipe import Credit, Recipe, Stream, c, register_recipe

register_recipe(
    Recipe(
        name="prorl",
        paper="ProRL, arXiv 2505.24864",
        summary="clip 0.2 / 0.4, groups without variance replaced, a small KL to a reference that is replaced, and the "
        "optimiser cleared, when success on the test split stalls",
        filters=(c("mixed_outcomes"),),
        surrogate=c("clip", low=0.2, high=0.4),
        regularisers=(c("kl_k3", coefficient=1e-3),),
        reduction=c("token_mean"),
        reference=c("on_stall", patience=3),
        refill=4,
        minibatches=4,
    )
)
register_recipe(
    Recipe(
        name="t1",
        paper="T1, arXiv 2501.11651",
        summary="leave-one-out REINFORCE with an entropy bonus, penalties on repetition and overlength, and KL to a "
        "moving average of the policy; coefficients are not stated",
        shaping=(c("repetition"), c("overlong")),
        credit=(Credit(baseline=c("leave_one_out"), scale=c("none")),),
        surrogate=c("reinforce"),
        regularisers=(c("entropy_bonus", coefficient=1e-3), c("kl_k2", coefficient=1e-3)),
        reduction=c("sequence_sum"),
        reference=c("ema", alpha=0.99),
    )
)
for _kind, _name, _coefficient in (("forward_kl", "f", 0.01), ("js", "js", 0.05), ("alpha", "alpha", 0.01)):
    register_recipe(
        Recipe(
            name=f"dph_{_name}",
            paper="DPH-RL, arXiv 2509.07430",
            summary=f"no KL to a reference; {_kind} divergence from the starting policy on solutions of tasks that it "
            "always solved; the curriculum is not kept from these tasks",
            streams=(
                Stream(
                    c("rehearsal", samples=8),
                    surrogate=c("none"),
                    regularisers=(c("rehearsal_divergence", kind=_kind, coefficient=_coefficient),),
                ),
            ),
        )
    )
