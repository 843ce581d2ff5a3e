"""Recipes that train on another reward with GRPO's update."""

from __future__ import annotations

from .recipe import Credit, Recipe, Stream, c, register_recipe, schedule

register_recipe(
    Recipe(
        name="ttrl",
        paper="TTRL, arXiv 2504.16084",
        summary="no labels: 1 for the answer that most of the group gave, 0 otherwise",
        shaping=(c("majority-vote"),),
        minibatches=8,
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
        name="craft_gui",
        paper="CRAFT-GUI, arXiv 2508.11360",
        summary="each action also earns by its form, name and arguments, compared with the worked solution's next one; "
        "stages by difficulty are --teacher sequential (their sizes and the weights are not stated)",
        shaping=(c("weighted", child=c("action-match"), weight=0.5),),
    )
)
register_recipe(
    Recipe(
        name="unlikeliness",
        paper="Rewarding the Unlikely, arXiv 2506.02355",
        summary="a success that was likelier than the group's others earns up to a quarter less; two epochs, KL 0.1",
        shaping=(c("unlikeliness"),),
        regularisers=(c("kl_k3", coefficient=0.1),),
        epochs=2,
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
        summary="a bonus for the shortest success of a group; groups weighted by 4 p (1 - p), p the share of successes",
        shaping=(c("shortest-correct"),),
        weights=(c("mid_difficulty", factor=4.0, level="accuracy"),),
    )
)
register_recipe(
    Recipe(
        name="hypervolume",
        paper="Dynamic Reward Weighting, arXiv 2509.11452",
        summary="correctness, conciseness and format, times a factor that grows with the hypervolume of their Pareto "
        "front; no deviation, by which the factor would be divided out",
        shaping=(c("hypervolume"),),
        credit=(Credit(scale=c("none")),),
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
        minibatches=4,
    )
)
register_recipe(
    Recipe(
        name="co_rewarding",
        paper="Co-rewarding-I, arXiv 2508.00410, section 3.2",
        summary="no labels: each task is played in two wordings, and the majority of one is the label of the other",
        rollout=c("paired_rephrase"),
        shaping=(c("co-rewarding"),),
        regularisers=(c("kl_k3", coefficient=0.005),),
    )
)
register_recipe(
    Recipe(
        name="co_rewarding_ema",
        paper="Co-rewarding-II, arXiv 2508.00410, section 3.3",
        summary="no labels: a moving average of the policy answers each task, and its majority is the label",
        measures=(c("teacher_answer", decay=schedule("cosine", start=0.99, end=0.9999)),),
        shaping=(c("co-rewarding", view="teacher"),),
        regularisers=(c("kl_k3", coefficient=0.005),),
    )
)
register_recipe(
    Recipe(
        name="co_rewarding_both",
        paper="Co-rewarding-III, arXiv 2508.00410",
        summary="no labels: two wordings, each labelled by what the moving average answers to the other",
        rollout=c("paired_rephrase"),
        measures=(c("teacher_answer", decay=schedule("cosine", start=0.99, end=0.9999), crossed=True),),
        shaping=(c("co-rewarding", view="teacher"),),
        regularisers=(c("kl_k3", coefficient=0.005),),
    )
)
register_recipe(
    Recipe(
        name="semantic_self_critical",
        paper="semantic self-critical sequence training, arXiv 2108.12026",
        summary="similarity to the reference beyond that of one greedy episode, 0.9 of the loss; likelihood of the "
        "reference solution, 0.1",
        rollout=c("greedy_twin"),
        shaping=(c("semantic-similarity"),),
        credit=(Credit(c("outcome"), c("greedy"), c("none")),),
        surrogate=c("reinforce"),
        reduction=c("token_mean"),
        streams=(Stream(c("oracle"), coefficient=0.1),),
        rollout_share=0.9,
    )
)
register_recipe(
    Recipe(
        name="rlp",
        paper="RLP, arXiv 2510.01265",
        summary="what a thought adds to the log-likelihood of the reference answer, over a slow copy of the policy "
        "that does not think, beside the outcome",
        shaping=(c("rlp"),),
        credit=(Credit(baseline=c("leave_one_out"), scale=c("none")),),
    )
)
