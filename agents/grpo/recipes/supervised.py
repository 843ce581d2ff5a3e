"""Recipes that learn from streams alone: imitation, rejection sampling, distillation."""

from __future__ import annotations

from .recipe import Recipe, Stream, c, register_recipe

register_recipe(
    Recipe(
        name="sft",
        paper="InstructGPT, arXiv 2203.02155",
        summary="maximum likelihood of the oracle's solutions to the curriculum's tasks; no reinforcement",
        rollout=c("unplayed"),
        streams=(Stream(c("oracle")),),
        rollout_share=0.0,
    )
)
register_recipe(
    Recipe(
        name="rft",
        paper="Rejection Sampling Fine-Tuning, arXiv 2308.01825",
        summary="maximum likelihood of all distinct successes of the batch, token by token; the policy goes on instead "
        "of starting again from the base",
        streams=(Stream(c("successes", distinct=True)),),
        rollout_share=0.0,
    )
)
register_recipe(
    Recipe(
        name="raft",
        paper="RAFT, arXiv 2304.06767",
        summary="maximum likelihood of the best sample of each task, whether it succeeded or not",
        streams=(Stream(c("successes", select="best", most=1), reduction=c("sequence_mean")),),
        rollout_share=0.0,
    )
)
register_recipe(
    Recipe(
        name="star",
        paper="STaR, arXiv 2203.14465",
        summary="maximum likelihood of one success a task; tasks that failed are tried again with the solution as a "
        "hint, which is taken out again; the policy goes on instead of starting again from the base",
        rollout=c(
            "guided",
            trigger="all_fail",
            amount="fixed(share=1.0)",
            where="stripped",
            source="answer",
            keep="successes",
            merge="failures",
            most=1,
            template="Hint: the answer is {hint}",
        ),
        streams=(Stream(c("successes", most=1), reduction=c("sequence_mean")),),
        rollout_share=0.0,
    )
)
register_recipe(
    Recipe(
        name="expert_iteration",
        paper="Teaching Large Language Models to Reason with Reinforcement Learning, arXiv 2403.04642",
        summary="maximum likelihood of the batch's distinct successes, each episode counted alike; the policy goes on "
        "instead of starting again from the base",
        streams=(Stream(c("successes", distinct=True), reduction=c("sequence_mean")),),
        rollout_share=0.0,
    )
)
register_recipe(
    Recipe(
        name="rest_em",
        paper="ReST-EM, arXiv 2312.06585",
        summary="maximum likelihood of at most ten successes a task; the policy goes on instead of starting again from "
        "the base",
        streams=(Stream(c("successes", most=10, distinct=False), reduction=c("sequence_mean")),),
        rollout_share=0.0,
    )
)
register_recipe(
    Recipe(
        name="sequence_distillation",
        paper="Sequence-Level Knowledge Distillation, arXiv 1606.07947",
        summary="maximum likelihood of a larger model's samples on the curriculum's tasks",
        rollout=c("unplayed"),
        streams=(Stream(c("teacher_model")),),
        rollout_share=0.0,
    )
)
register_recipe(
    Recipe(
        name="on_policy_distillation",
        paper="GKD, arXiv 2306.13649",
        summary="no reward: at each sampled token the log-ratio of a larger model to the policy is the advantage",
        surrogate=c("distill"),
        reduction=c("token_mean"),
    )
)
