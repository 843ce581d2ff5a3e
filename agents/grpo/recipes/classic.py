"""Recipes without a clip: REINFORCE, imitation of the better samples, and preferences between them."""

from __future__ import annotations

from .recipe import Credit, Recipe, c, register_recipe

CENTRED = (Credit(scale=c("none")),)
SIGNED = (Credit(baseline=c("fixed", value=0.5), scale=c("sign")),)

for _recipe in (
    Recipe(
        name="reinforce",
        paper="Williams 1992, Machine Learning 8",
        summary="centred rewards, log-likelihood of whole episodes, nothing else",
        credit=CENTRED,
        surrogate=c("reinforce"),
        reduction=c("sequence_sum"),
    ),
    Recipe(
        name="bnpo",
        paper="TRL 1.16, loss type bnpo",
        summary="mean over the tokens of the batch, no KL; beta normalisation is the recipe beta_norm",
        reduction=c("token_mean"),
    ),
    Recipe(
        name="topr",
        paper="TOPR, arXiv 2503.14286",
        summary="rewards of 1 and -1 without baseline; right answers imitated, wrong ones weighted by min(pi / mu, "
        "1); four updates a batch (the number is not stated)",
        credit=SIGNED,
        surrogate=c("topr", level="sequence"),
        minibatches=4,
    ),
    Recipe(
        name="opmd",
        paper="Trinity-RFT, arXiv 2505.17826",
        summary="centred rewards, log-likelihood over 1 + tau, no ratio and no clip",
        credit=CENTRED,
        surrogate=c("opmd", tau=1.0),
        reduction=c("token_mean"),
    ),
    Recipe(
        name="asymre",
        paper="Asymmetric REINFORCE, arXiv 2506.20520",
        summary="centred rewards plus 0.1: a low baseline, for off-policy samples; no ratio and no clip",
        credit=CENTRED,
        surrogate=c("asymre", shift=0.1),
        reduction=c("token_mean"),
    ),
    Recipe(
        name="rec_one_side",
        paper="REC, arXiv 2509.24203",
        summary="centred rewards, REINFORCE with importance weights where the clip would have a gradient; token mean",
        credit=CENTRED,
        surrogate=c("rec", clip="one_side", weight="is"),
        reduction=c("token_mean"),
        minibatches=20,
    ),
    Recipe(
        name="rec_one_side_noweight",
        paper="REC, arXiv 2509.24203",
        summary="centred rewards, REINFORCE without weights where a wide clip would have a gradient; token mean",
        credit=CENTRED,
        surrogate=c("rec", clip="one_side", weight="none", near=(0.6, 2.0)),
        reduction=c("token_mean"),
        minibatches=20,
    ),
    Recipe(
        name="rec_two_side",
        paper="REC, arXiv 2509.24203",
        summary="centred rewards, REINFORCE where the ratio lies in the band, whatever the advantage; token mean",
        credit=CENTRED,
        surrogate=c("rec", clip="two_side", weight="is"),
        reduction=c("token_mean"),
        minibatches=20,
    ),
    Recipe(
        name="rec_ring",
        paper="REC, arXiv 2509.24203",
        summary="rec_two_side, and also where a token has moved far to the wrong side; token mean",
        credit=CENTRED,
        surrogate=c("rec", clip="ring", weight="none"),
        reduction=c("token_mean"),
        minibatches=20,
    ),
    Recipe(
        name="rec_opmd",
        paper="REC, arXiv 2509.24203",
        summary="centred rewards, REINFORCE with a squared log-ratio penalty of 0.1; token mean",
        credit=CENTRED,
        surrogate=c("rec", clip="none", weight="none"),
        regularisers=(c("log_ratio_square", coefficient=0.1),),
        reduction=c("token_mean"),
        minibatches=20,
    ),
    Recipe(
        name="red_weight",
        paper="REC, arXiv 2509.24203",
        summary="centred rewards, REINFORCE weighted by the exponential of the advantage; token mean",
        credit=CENTRED,
        surrogate=c("rec", clip="none", weight="advantage"),
        reduction=c("token_mean"),
        minibatches=20,
    ),
    Recipe(
        name="red_drop",
        paper="REC, arXiv 2509.24203",
        summary="failures are dropped until a group has no more of them than successes, then centred rewards and "
        "REINFORCE; token mean",
        filters=(c("fewer_failures"),),
        credit=CENTRED,
        surrogate=c("rec", clip="none", weight="none"),
        reduction=c("token_mean"),
        minibatches=20,
    ),
    Recipe(
        name="dpo",
        paper="DPO, arXiv 2305.18290",
        summary="each pair of a group with unequal outcomes is a preference; fresh samples, no advantage",
        surrogate=c("dpo", beta=0.1),
        origins=("policy", "teacher"),
    ),
    Recipe(
        name="ipo_pairs",
        paper="IPO, arXiv 2310.12036",
        summary="pairs as in dpo, with a squared error around a fixed margin",
        surrogate=c("ipo_pairs", beta=0.1),
        origins=("policy", "teacher"),
    ),
    Recipe(
        name="kto",
        paper="KTO, arXiv 2402.01306",
        summary="each episode is desirable or not by itself; reference point from the batch's own episodes",
        surrogate=c("kto", beta=0.1),
        origins=("policy", "teacher"),
    ),
    Recipe(
        name="rrhf",
        paper="RRHF, arXiv 2304.05302",
        summary="mean log-probabilities are ranked by outcome, and the best is imitated",
        surrogate=c("rrhf"),
    ),
):
    register_recipe(_recipe)
