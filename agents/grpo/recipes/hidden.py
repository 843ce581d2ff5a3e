"""Recipes whose credit is computed from the last hidden states of the policy."""

from __future__ import annotations

from .recipe import Recipe, c, register_recipe

register_recipe(
    Recipe(
        name="thr",
        paper="Token Hidden Reward, arXiv 2510.03669",
        summary="tokens whose update makes the group's correct answers likelier count a tenth more, the others a tenth "
        "less; a negative p explores instead",
        adjustments=(c("hidden_reward", p=0.1),),
    )
)
register_recipe(
    Recipe(
        name="nthr",
        paper="NTHR, arXiv 2505.18830",
        summary="tokens of failed answers that act on correct ones as these act on each other are punished less, the "
        "closer the success rate is to one half",
        adjustments=(c("negative_hidden_reward", beta=1.0),),
    )
)
