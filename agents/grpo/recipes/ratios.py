"""Recipes that differ from GRPO in what is done with the ratio of a token or of a whole episode.

Bounds are the papers'. Rewards, filters and lengths that a paper also changed are named in the summary where they are
part of the recipe and left out where they are not.
"""

from __future__ import annotations

from .recipe import Credit, Recipe, c, register_recipe

CENTRED = (Credit(scale=c("none")),)

for _recipe in (
    Recipe(
        name="gspo",
        paper="GSPO, arXiv 2507.18071",
        summary="the geometric mean of an episode's ratios is clipped, in a narrow band; no KL",
        surrogate=c("gspo", low=3e-4, high=4e-4),
        minibatches=4,
    ),
    Recipe(
        name="gspo_token",
        paper="GSPO, arXiv 2507.18071",
        summary="GSPO's ratio with token gradients, for advantages that differ within an episode; no KL",
        surrogate=c("gspo_token", low=3e-4, high=4e-4),
        minibatches=4,
    ),
    Recipe(
        name="luspo",
        paper="LUSPO, arXiv 2602.05261",
        summary="GSPO with each episode counting as often as it has tokens, in a wider band; no KL; four updates a "
        "batch (the number is not stated)",
        surrogate=c("gspo", low=2e-3, high=2.5e-3),
        reduction=c("sequence_sum"),
        minibatches=4,
    ),
    Recipe(
        name="gmpo",
        paper="GMPO, arXiv 2507.20673",
        summary="geometric mean of token ratios, each clipped to [e^-0.4, e^0.4]; no KL",
        surrogate=c("gmpo", low=0.4, high=0.4),
        minibatches=8,
    ),
    Recipe(
        name="cispo",
        paper="MiniMax-M1, arXiv 2506.13585",
        summary="REINFORCE weighted by the capped, detached ratio, no token loses its gradient; token mean, no KL",
        surrogate=c("cispo", cap=5.0),
        reduction=c("token_mean"),
        minibatches=16,
    ),
    Recipe(
        name="sapo",
        paper="SAPO, arXiv 2511.20347",
        summary="a sigmoid of the ratio in place of the clip, steeper for negative advantages; no KL",
        surrogate=c("sapo", tau_positive=1.0, tau_negative=1.05),
        minibatches=4,
    ),
    Recipe(
        name="vespo",
        paper="VESPO, arXiv 2602.10693",
        summary="REINFORCE with a gamma-shaped weight of the episode's whole ratio; token mean, no KL",
        surrogate=c("vespo"),
        reduction=c("token_mean"),
        minibatches=8,
    ),
    Recipe(
        name="dppo",
        paper="DPPO, arXiv 2602.04879",
        summary="drops tokens whose probability has moved by more than 0.15, whatever the ratio; token mean, no KL",
        surrogate=c("dppo_tv", low=0.15, high=0.15),
        reduction=c("token_mean"),
        minibatches=8,
    ),
    Recipe(
        name="dppo_kl",
        paper="DPPO, arXiv 2602.04879",
        summary="drops tokens whose binary KL divergence exceeds 0.05; token mean, no KL in the loss",
        surrogate=c("dppo_kl", low=0.05, high=0.05),
        reduction=c("token_mean"),
        minibatches=8,
    ),
    Recipe(
        name="prime_rl",
        paper="prime-rl, INTELLECT-3, arXiv 2512.16144",
        summary="no std; tokens whose probability moved by more than 0.2 are dropped; squared log-ratio penalty; for "
        "stale samplers, one update a batch",
        credit=CENTRED,
        surrogate=c("dppo_tv", low=0.2, high=0.2, form="ratio"),
        regularisers=(c("log_ratio_square", coefficient=1e-3),),
        reduction=c("token_mean"),
    ),
    Recipe(
        name="ipo",
        paper="prime-rl's loss ipo",
        summary="no std; tokens that moved by more than 0.2 either way are dropped; squared log-ratio penalty; for "
        "stale samplers, one update a batch",
        credit=CENTRED,
        surrogate=c("ipo", threshold=0.2),
        regularisers=(c("log_ratio_square", coefficient=1e-3),),
        reduction=c("token_mean"),
    ),
    Recipe(
        name="dual_clip",
        paper="Dual-clip PPO, arXiv 1912.09729",
        summary="the clip has a second bound of 3 for negative advantages; token mean, no KL; four updates a batch "
        "(the number is not stated)",
        surrogate=c("dual_clip", low=0.2, high=0.2, worst=3.0),
        reduction=c("token_mean"),
        minibatches=4,
    ),
    Recipe(
        name="intellect_2",
        paper="INTELLECT-2, arXiv 2505.07291",
        summary="the ratio is capped at 4 for negative advantages too; token mean",
        surrogate=c("two_sided", low=0.2, high=0.2, delta=4.0),
        regularisers=(c("kl_k3", coefficient=1e-3),),
        reduction=c("token_mean"),
        minibatches=8,
    ),
    Recipe(
        name="aspo",
        paper="ASPO, arXiv 2510.06062",
        summary="the ratio of positive advantages is turned over; soft cap at 3; token mean, no KL",
        surrogate=c("aspo", low=0.2, high=0.28, cap=3.0),
        reduction=c("token_mean"),
        minibatches=4,
        epochs=3,
    ),
    Recipe(
        name="bapo",
        paper="BAPO, arXiv 2510.18927",
        summary="clip bounds rise until positive tokens make up 0.4 of what the batch contributes; token mean, no KL",
        surrogate=c("bapo", share=0.4),
        reduction=c("token_mean"),
        minibatches=4,
        epochs=2,
    ),
    Recipe(
        name="dcpo",
        paper="DCPO, arXiv 2509.02333",
        summary="clip bounds from the token's old probability; GRPO's advantages instead of cumulative ones, no KL",
        surrogate=c("dcpo", low=0.16, high=0.2),
        minibatches=16,
    ),
    Recipe(
        name="tr_grpo",
        paper="TR-GRPO, later GRPO-SG, arXiv 2511.00066",
        summary="unlikely tokens, whose gradients are large, count less than likely ones (the constants are ours)",
        surrogate=c("tr_grpo"),
        regularisers=(c("kl_k3", coefficient=0.04),),
    ),
    Recipe(
        name="clip_cov",
        paper="The Entropy Mechanism of RL, arXiv 2505.22617",
        summary="a few tokens of high covariance between advantage and log-probability are left out; token mean, no KL",
        surrogate=c("clip_cov", share=2e-4, smallest=1.0, largest=5.0),
        reduction=c("token_mean"),
        minibatches=8,
    ),
    Recipe(
        name="kl_cov",
        paper="The Entropy Mechanism of RL, arXiv 2505.22617",
        summary="tokens of the highest covariance are held near the old policy instead of clipped; token mean, no KL",
        surrogate=c("kl_cov", share=2e-4, coefficient=1.0),
        reduction=c("token_mean"),
        minibatches=8,
    ),
):
    register_recipe(_recipe)
