"""Recipes that give the policy a part of a solution, or train on solutions of a teacher."""

from __future__ import annotations

from .recipe import Credit, Recipe, c, register_recipe

register_recipe(
    Recipe(
        name="egsr",
        paper="EGSR of ADCL, arXiv 2505.08364",
        summary="a failing group gains the policy's own reformulation of the solution, if it is right, trained without "
        "the solution in its context",
        rollout=c(
            "guided",
            trigger="all_fail",
            amount="fixed(share=1.0)",
            where="stripped",
            template="Solution of an expert: {hint}\nGive the solution in your own words.",
            count=1,
            keep="successes",
            merge="add",
        ),
    )
)
register_recipe(
    Recipe(
        name="rusca_rl",
        paper="RuscaRL, arXiv 2508.16949",
        summary="the score of the task's rubric is the reward; samples see a share of the criteria that falls within "
        "the group and with training; the loss does not",
        shaping=(c("rubric", aggregation="signed", complete=True),),
        rollout=c(
            "guided",
            trigger="always",
            amount="graded(midpoint=0.2, steepness=125.0)",
            where="stripped",
            source="criteria",
            template="A good answer meets these criteria:\n{hint}",
            merge="replace",
        ),
    )
)
register_recipe(
    Recipe(
        name="rgr_grpo",
        paper="RGR-GRPO, arXiv 2511.12344",
        summary="the share of a rubric's points is the reward; the best sample is written again with the criteria that "
        "it does not meet as a critique, and the new row shaped by pi / (pi + 0.1) (the paper's trigger is not stated)",
        rollout=c("rubric_refine"),
        shaping=(c("rubric", aggregation="mean", complete=True),),
        surrogate=c("by_origin", policy=c("clip", low=0.2, high=0.2), teacher=c("shaped_ratio", gamma=0.1)),
        origins=("policy", "teacher"),
    )
)
register_recipe(
    Recipe(
        name="seele",
        paper="SEELE, arXiv 2509.06923",
        summary="answers open with as much of the solution as makes half of them right, found in rounds; the opening "
        "is not trained (the paper's supervised term on it is left out)",
        rollout=c("guided", trigger="always", amount="logistic(target=0.5, rounds=4)", where="answer", merge="replace"),
    )
)
register_recipe(
    Recipe(
        name="ghpo",
        paper="GHPO, arXiv 2507.10628",
        summary="a failing group is sampled again with a quarter, half, three quarters of the steps of the worked "
        "solution in the prompt",
        rollout=c("guided", trigger="all_fail", amount="ladder(levels=(0.25, 0.5, 0.75))", merge="replace"),
    )
)
register_recipe(
    Recipe(
        name="pope",
        paper="POPE, arXiv 2601.18779",
        summary="a task on which all fail is also played, as a group of its own, with the shortest beginning of the "
        "solution that helps in the prompt",
        rollout=c(
            "guided",
            trigger="all_fail",
            amount="ladder(levels=(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9))",
            template="Continue from this partial solution: {hint}",
            merge="beside",
        ),
    )
)
register_recipe(
    Recipe(
        name="agent_rlvr",
        paper="Agent-RLVR, arXiv 2506.11425",
        summary="every failed attempt is tried again with its errors, feedback and failing test and the first half of "
        "the worked steps as a plan in the prompt (the paper updates by DPO)",
        rollout=c(
            "guided",
            trigger="any_fail",
            amount="fixed(share=0.5)",
            source="feedback",
            template="{hint}",
            count=-1,
            merge="failures",
        ),
    )
)
register_recipe(
    Recipe(
        name="igpo_inpainting",
        paper="IGPO, arXiv 2509.10396",
        summary="in failing groups chunks of the worked steps are put into answers; up to half of the group are "
        "replaced by those that came out right; of inserted tokens the most uncertain fifth is trained; ratios by "
        "sequence",
        rollout=c(
            "guided",
            trigger="all_fail",
            amount="uniform(low=0.2, high=0.6)",
            where="chunks",
            chunk=(5, 10),
            keep="successes",
            merge="failures",
            most=4,
        ),
        credit=(Credit(scale=c("none")),),
        masks=(c("hint_entropy", share=0.2),),
        anchor="policy",
        surrogate=c("gspo", low=0.2, high=0.2),
        regularisers=(c("kl_k3", coefficient=0.01),),
        origins=("policy", "hint"),
        epochs=4,
    )
)
register_recipe(
    Recipe(
        name="luffy",
        paper="LUFFY, arXiv 2504.14945",
        summary="one row of a teacher in every group, its tokens shaped by pi / (pi + 0.1); no standard deviation, no "
        "length normalisation, no KL",
        rollout=c("teacher_rows", trigger="always", merge="add", most=1),
        credit=(Credit(scale=c("none")),),
        surrogate=c("by_origin", policy=c("clip", low=0.2, high=0.2), teacher=c("shaped_ratio", gamma=0.1)),
        reduction=c("constant"),
        origins=("policy", "teacher"),
        minibatches=2,
    )
)
register_recipe(
    Recipe(
        name="ampo_multi_guidance",
        paper="AMPO, arXiv 2510.02227",
        summary="two failures of a failing group give way to the teachers' rows whose answers the policy finds "
        "likeliest after their reasoning, shaped by pi / (pi + 0.1); the pool is the worked solution, the data set's "
        "rationale, two samples of --teacher-model if there is one, and up to three earlier successes",
        rollout=c(
            "teacher_rows",
            trigger="all_fail",
            merge="failures",
            most=2,
            remember=3,
            sources="oracle + rationale + model(samples=2, optional=True)",
        ),
        credit=(Credit(scale=c("none")),),
        surrogate=c("by_origin", policy=c("clip", low=0.2, high=0.2), teacher=c("shaped_ratio", gamma=0.1)),
        reduction=c("constant"),
        origins=("policy", "teacher"),
    )
)
register_recipe(
    Recipe(
        name="rl_plus",
        paper="RL-PLUS, arXiv 2508.00222",
        summary="one row of a teacher in every group, weighted against a mixture of the policy and an unknown author "
        "and by how little the policy knows it; own tokens without a clip, the mean of own rows as the baseline",
        rollout=c("teacher_rows", trigger="always", merge="add", most=1),
        credit=(Credit(baseline=c("own_mean"), scale=c("none")),),
        anchor="policy",
        surrogate=c("by_origin", policy=c("ratio"), teacher=c("rl_plus", gamma=0.5)),
        regularisers=(c("entropy_bonus", coefficient=1e-3),),
        reduction=c("constant"),
        origins=("policy", "teacher"),
    )
)
register_recipe(
    Recipe(
        name="scope_repair",
        paper="SCOPE, arXiv 2602.24110",
        summary="the oracle rewrites the first wrong step of a failed answer or turn of a failed game, the policy "
        "goes on, and what succeeds joins the group, rewritten tokens shaped as LUFFY's (the paper's weights are not "
        "stated)",
        rollout=c("first_error_repair"),
        surrogate=c("by_origin", policy=c("clip", low=0.2, high=0.2), teacher=c("shaped_ratio", gamma=0.1)),
        origins=("policy", "teacher"),
    )
)
register_recipe(
    Recipe(
        name="r3l",
        paper="R3L, arXiv 2601.03715",
        summary="half of the group goes back to the turn that a reflection names, with the reflection as a hint that "
        "is not trained; shared turns are masked, good advantages amplified, no ratio",
        rollout=c("reflect_retry"),
        credit=(Credit(scale=c("none")),),
        adjustments=(c("amplify", full=1.0, factor=3.0),),
        masks=(c("unshared"),),
        surrogate=c("opmd", tau=1.0),
        reduction=c("token_mean"),
    )
)
