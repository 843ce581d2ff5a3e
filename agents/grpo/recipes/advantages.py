"""Recipes that differ from GRPO in how an episode's advantage comes from its outcome: baselines and scales."""

from __future__ import annotations

from .recipe import Credit, Recipe, c, register_recipe

register_recipe(
    Recipe(
        name="reinforce_pp",
        paper="REINFORCE++, arXiv 2501.03262",
        summary="no group: KL in the reward of each token, returns-to-go whitened over the batch",
        credit=(Credit(c("kl_to_go", beta=0.01), c("none"), c("whiten")),),
        reduction=c("token_mean"),
        minibatches=8,
    )
)
register_recipe(
    Recipe(
        name="reinforce_pp_baseline",
        paper="REINFORCE++, arXiv 2501.03262",
        summary="group mean subtracted, then whitened over the batch; k2 in the loss (its strength varies); strictly "
        "on-policy, one update a batch",
        credit=(Credit(scale=c("whiten")),),
        regularisers=(c("kl_k2", coefficient=0.001),),
        reduction=c("token_mean"),
    )
)
register_recipe(
    Recipe(
        name="remax",
        paper="ReMax, arXiv 2310.10505",
        summary="outcome minus that of one greedy episode, KL in the reward of each token, plain REINFORCE; strictly "
        "on-policy, one update a batch",
        rollout=c("greedy_twin"),
        credit=(Credit(c("kl_to_go", beta=0.01), c("greedy"), c("none")),),
        surrogate=c("reinforce"),
        reduction=c("token_mean"),
    )
)
register_recipe(
    Recipe(
        name="opo",
        paper="OPO, arXiv 2505.23585",
        summary="baseline weighted by length, no scale, REINFORCE strictly on-policy",
        credit=(Credit(baseline=c("length_weighted"), scale=c("none")),),
        surrogate=c("reinforce"),
        reduction=c("token_mean"),
    )
)
register_recipe(
    Recipe(
        name="otb",
        paper="The Optimal Token Baseline, arXiv 2602.07078",
        summary="a baseline for each token, weighted by the estimated squared norm of the score so far, no scale; "
        "strictly on-policy, one update a batch",
        credit=(Credit(c("outcome_by_token"), c("optimal_token"), c("none")),),
        reduction=c("token_mean"),
    )
)
register_recipe(
    Recipe(
        name="lite_ppo",
        paper="Tricks or Traps, arXiv 2508.08221",
        summary="group mean and batch deviation, mean over tokens, nothing else",
        credit=(Credit(scale=c("batch_std")),),
        reduction=c("token_mean"),
    )
)
register_recipe(
    Recipe(
        name="gpg",
        paper="GPG, arXiv 2504.02546",
        summary="plain policy gradient on centred outcomes, scaled up by the share of groups without a signal",
        credit=(Credit(scale=c("informative")),),
        surrogate=c("reinforce"),
        reduction=c("token_mean"),
    )
)
register_recipe(
    Recipe(
        name="max_rl",
        paper="MaxRL, arXiv 2602.02710",
        summary="centred outcomes over the group's mean: the gradient of the log success rate; strictly on-policy, "
        "one update a batch",
        credit=(Credit(scale=c("mean")),),
        surrogate=c("reinforce"),
        reduction=c("token_mean"),
    )
)
register_recipe(
    Recipe(
        name="pass_at_k",
        paper="Pass@k Training, arXiv 2508.10751",
        summary="closed-form advantages of any of 4 samples succeeding and of one, in equal parts (the first alone is "
        "silent where fewer than 4 fail: right for groups of 32)",
        credit=(
            Credit(baseline=c("none"), scale=c("pass_at_k", k=4), coefficient=0.5),
            Credit(baseline=c("none"), scale=c("pass_at_k", k=1), coefficient=0.5),
        ),
        surrogate=c("clip", low=0.2, high=0.28),
        reduction=c("token_mean"),
    )
)
register_recipe(
    Recipe(
        name="beta_norm",
        paper="BNPO, arXiv 2506.02864",
        summary="centred outcomes over the density of a Beta distribution fitted to the batch's success rates, no KL",
        credit=(Credit(scale=c("beta_norm")),),
        surrogate=c("clip", low=0.2, high=0.28),
        reduction=c("token_mean"),
    )
)
register_recipe(
    Recipe(
        name="copo",
        paper="COPO, arXiv 2508.04138",
        summary="blend of advantages within a group and between tasks, by the entropy of the group's answers",
        credit=(Credit(scale=c("consistency_blend", gamma=20.0, rho=1.5)),),
    )
)
register_recipe(
    Recipe(
        name="psr",
        paper="The Surprising Effectiveness of Negative Reinforcement, arXiv 2506.01347",
        summary="only successes, with advantage 1",
        credit=(Credit(c("success"), c("fixed", value=0.5), c("sign")),),
        masks=(c("positive"),),
        reduction=c("token_mean"),
        minibatches=4,
    )
)
register_recipe(
    Recipe(
        name="nsr",
        paper="The Surprising Effectiveness of Negative Reinforcement, arXiv 2506.01347",
        summary="only failures, with advantage -1",
        credit=(Credit(c("success"), c("fixed", value=0.5), c("sign")),),
        masks=(c("negative"),),
        reduction=c("token_mean"),
        minibatches=4,
    )
)
register_recipe(
    Recipe(
        name="w_reinforce",
        paper="The Surprising Effectiveness of Negative Reinforcement, arXiv 2506.01347",
        summary="successes with advantage 0.1, failures with -1, no baseline",
        credit=(Credit(c("success"), c("fixed", value=0.5), c("sign")),),
        adjustments=(c("sign_weights", positive=0.1, negative=1.0),),
        reduction=c("token_mean"),
        minibatches=4,
    )
)
register_recipe(
    Recipe(
        name="rae",
        paper="SPIRAL, arXiv 2506.24119",
        summary="no group: a running mean of returns for each role is the baseline, REINFORCE",
        credit=(Credit(baseline=c("ema", decay=0.95, by="role"), scale=c("none")),),
        surrogate=c("reinforce"),
        reduction=c("sequence_mean"),
    )
)
register_recipe(
    Recipe(
        name="spo_single",
        paper="Single-stream Policy Optimization, arXiv 2509.13232",
        summary="no group: a forgetting Beta estimate of each task's success rate as baseline, whitened over the batch",
        credit=(Credit(baseline=c("beta_tracker", by="task"), scale=c("whiten_units")),),
        surrogate=c("clip", low=0.2, high=0.28),
        reduction=c("token_mean"),
    )
)
register_recipe(
    Recipe(
        name="krpo",
        paper="KRPO, arXiv 2505.07527",
        summary="mean and deviation of the group from a Kalman filter (here without process noise)",
        credit=(Credit(baseline=c("kalman"), scale=c("kalman_std")),),
    )
)
register_recipe(
    Recipe(
        name="qae",
        paper="Quantile Advantage Estimation, arXiv 2509.22611",
        summary="the group's 0.4-quantile as the baseline, on DAPO without its filter",
        credit=(Credit(baseline=c("quantile", level=0.4)),),
        surrogate=c("clip", low=0.2, high=0.28),
        reduction=c("token_mean"),
        minibatches=16,
    )
)
register_recipe(
    Recipe(
        name="ngrpo",
        paper="NGRPO, arXiv 2509.18851",
        summary="one imagined success in each group's mean and deviation; wider clip above than below",
        credit=(Credit(baseline=c("virtual_best"), scale=c("virtual_std")),),
        surrogate=c("clip", low=0.16, high=0.24),
    )
)
register_recipe(
    Recipe(
        name="delta_l",
        paper="Delta L Normalization, arXiv 2509.07558",
        summary="episodes weighted by 1 / length so that the gradient is unbiased with least variance, no scale",
        credit=(Credit(scale=c("none")),),
        reduction=c("delta_l", alpha=1.0),
    )
)
register_recipe(
    Recipe(
        name="pc_grpo",
        paper="PuzzleCraft, arXiv 2512.14944",
        summary="groups weighted by 4 d (1 - d), d the mean outcome, and by how answers differ, among the task's "
        "options or as permutations; no scale, no KL",
        credit=(Credit(scale=c("none")),),
        weights=(c("mid_difficulty", factor=4.0, diversity=0.5),),
    )
)
