"""Recipes that fit log-ratios to rewards instead of following a policy gradient."""

from __future__ import annotations

from .recipe import Credit, Recipe, c, register_recipe

CENTRED = (Credit(scale=c("none")),)

for _recipe in (
    Recipe(
        name="dro",
        paper="DRO, arXiv 2405.19107",
        summary="centred rewards, squared log-ratio at each token; the group mean in place of a learned value; four "
        "updates a batch (the number is not stated)",
        credit=CENTRED,
        surrogate=c("dro", beta=1.0),
        reduction=c("token_mean"),
        minibatches=4,
    ),
    Recipe(
        name="kimi",
        paper="Kimi k1.5, arXiv 2501.12599",
        summary="centred rewards, squared log-ratio of the whole episode; tau, unpublished, is 0.1; four updates a "
        "batch (the number is not stated)",
        credit=CENTRED,
        surrogate=c("kimi", tau=0.1),
        minibatches=4,
    ),
    Recipe(
        name="rpg",
        paper="RPG, arXiv 2505.17508",
        summary="importance-weighted policy gradient with an unnormalised reverse KL to the old policy; four updates "
        "a batch (the number is not stated)",
        surrogate=c("rpg", divergence="urkl", beta=1e-3),
        reduction=c("token_mean"),
        minibatches=4,
    ),
    Recipe(
        name="sppo",
        paper="SPPO, arXiv 2405.00675",
        summary="the log-ratio of an episode is fitted to how often it beats its group; four updates a batch (the "
        "number is not stated)",
        surrogate=c("sppo", eta=1000.0),
        anchor="policy",
        minibatches=4,
    ),
    Recipe(
        name="gvpo",
        paper="GVPO, arXiv 2504.19599",
        summary="the centred log-ratios of a group are fitted to its centred rewards; four updates a batch (the "
        "number is not stated)",
        credit=CENTRED,
        surrogate=c("gvpo", beta=0.1),
        minibatches=4,
    ),
    Recipe(
        name="prdp",
        paper="PRDP, arXiv 2402.08714",
        summary="differences of log-ratios to the reference are fitted to differences of rewards; no proximal clip",
        surrogate=c("prdp", beta=0.1),
    ),
    Recipe(
        name="flow_rl",
        paper="FlowRL, arXiv 2509.15207",
        summary="trajectory balance with the group's own partition function in place of a learned one",
        surrogate=c("flow_rl", beta=15.0),
        minibatches=16,
    ),
    Recipe(
        name="pacs",
        paper="PACS, arXiv 2509.02522",
        summary="the log-ratio, relative to the group's others, predicts by cross-entropy whether the answer is "
        "right; four updates a batch (the number is not stated)",
        surrogate=c("pacs", beta=1.0),
        minibatches=4,
    ),
):
    register_recipe(_recipe)
