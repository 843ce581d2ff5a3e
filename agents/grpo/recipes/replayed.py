"""Recipes that train on what earlier policies played."""

from __future__ import annotations

from .recipe import Credit, Recipe, Stream, c, register_recipe, schedule

register_recipe(
    Recipe(
        name="remix",
        paper="ReMix, arXiv 2507.06892",
        summary="two updates a batch of which two fifths are replayed from the last two policies, a clip window that "
        "moves with their age, KL to base and last policy; from update 50 on-policy against the new base",
        replay=c(
            "mix_policy",
            probability=schedule("piecewise", points=((49, 0.4), (50, 0.0))),
            window=2,
            utd=schedule("piecewise", points=((49, 2.0), (50, 1.0))),
        ),
        anchor="policy",
        surrogate=c("moving_clip"),
        regularisers=(
            c(
                "kl_convex",
                # max(1 - 0.1 ceil(max(t - 50, 0) / 10), 0.5)
                share=schedule(
                    "piecewise",
                    points=(
                        (50, 1.0),
                        (51, 0.9),
                        (60, 0.9),
                        (61, 0.8),
                        (70, 0.8),
                        (71, 0.7),
                        (80, 0.7),
                        (81, 0.6),
                        (90, 0.6),
                        (91, 0.5),
                    ),
                ),
            ),
        ),
        reference=c("at_step", step=50),
        minibatches=2,
    )
)
register_recipe(
    Recipe(
        name="repo",
        paper="RePO, arXiv 2506.09340",
        summary="beside each group its task's eight latest earlier episodes, with advantages of their own; no KL",
        replay=c("prompt_replay", samples=8, strategy="recency"),
    )
)
register_recipe(
    Recipe(
        name="exgrpo",
        paper="ExGRPO, arXiv 2510.02245",
        summary="as many tasks again from experience: a past success of low entropy joins fresh episodes, its ratio "
        "shaped; no KL; comes beside the batch instead of taking half of it",
        streams=(
            Stream(
                c("experience", start=0.35),
                surrogate=c("by_origin", policy=c("clip"), teacher=c("shaped_importance", gamma=0.1)),
                reduction=c("sequence_mean"),
            ),
        ),
        minibatches=2,
    )
)
register_recipe(
    Recipe(
        name="rorecomp",
        paper="RoRecomp, arXiv 2509.25958",
        summary="short successes and long failures now, the rest later from a queue, advantages of the whole group; "
        "shares and queue are not stated",
        replay=c("recompose"),
        adjustments=(c("given"),),
    )
)
register_recipe(
    Recipe(
        name="web_rl",
        paper="WebRL, arXiv 2411.02337",
        summary="regression of log-ratios to a critic's advantages; replays successes that were neither sure nor "
        "unlikely when played; a regressed critic, and one reference throughout",
        filters=(c("sound"),),
        replay=c("likely_successes", low=0.5, high=0.95, ratio=2.0),
        credit=(Credit(c("gae", discount=0.9, decay=0.5), c("none"), c("none")),),
        surrogate=c("log_ratio_regression", beta=1.0, level="turn"),
        auxiliaries=(c("critic", discount=0.9, decay=0.5),),
        reduction=c("token_mean"),
    )
)
register_recipe(
    Recipe(
        name="spear",
        paper="SPEAR, arXiv 2509.22601",
        summary="no deviation, constant length, the most varied groups; a stream of past episodes far above their "
        "group, recalibrated by the median, grows over 200 updates; a fading bonus for tool calls",
        shaping=(c("tool-bonus"),),
        filters=(c("sound"), c("untruncated"), c("high_variance", share=0.75)),
        credit=(Credit(scale=c("none")),),
        surrogate=c("clip_cov", low=0.2, high=0.28, share=0.02, smallest=1.0, largest=40.0),
        reduction=c("constant"),
        streams=(
            Stream(
                c("self_imitation"),
                surrogate=c("clip_cov", low=0.2, high=0.28, share=0.02, smallest=1.0, largest=40.0),
                reduction=c("constant"),
                coefficient=schedule("cosine", start=0.0, end=1.0, over=200),
            ),
        ),
    )
)
register_recipe(
    Recipe(
        name="self_imitation",
        paper="Self-Imitation Learning, arXiv 1806.05635",
        summary="imitates past episodes too, by how far they lie above the median of group means, which stands for the "
        "critic; their share is not the paper's",
        streams=(
            Stream(
                c("self_imitation", threshold=0.0, good=1, expiry=100),
                surrogate=c("reinforce"),
                reduction=c("sequence_mean"),
                coefficient=0.1,
            ),
        ),
    )
)
