"""Overrides of a recipe by a configuration, and notices: sentences for the user on parts of a recipe without effect."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator

from ....rewards import REWARDS
from ...engines.engine import ENGINES
from ..components.loss_arrays import arrays_of
from ..config import TrainConfig
from ..recipes import Component, Recipe
from ..recipes.stages import CORRECTORS, REGULARISERS, SURROGATES, Stage
from .binding import Clock, bind

HALF_PRECISION = ("bfloat16", "float16")


def updates_per_batch(recipe: Recipe, config: TrainConfig) -> tuple[int, int]:
    """Return the numbers of mini-batches and of epochs per rollout batch; the configuration overrides the recipe.

    A group is never split, so there are at most as many mini-batches as tasks per step.
    """
    return min(config.minibatches or recipe.minibatches, config.prompts), config.epochs or recipe.epochs


def choose_anchor(recipe: Recipe, config: TrainConfig) -> str:
    """Return the anchor of the ratios; the configuration overrides the recipe.

    For half-precision weights, a recipe's "sampler" becomes "rescored", as sampler and trainer then differ by about
    1e-3 nats at equal weights, more than the width of narrow bands. With staleness the recipe's anchor stays, as
    samples of an older policy can no longer be scored by it.
    """
    if config.stages.anchor is not None:
        return config.stages.anchor
    if config.staleness:
        return recipe.anchor
    return "rescored" if recipe.anchor == "sampler" and config.dtype in HALF_PRECISION else recipe.anchor


def apply_overrides(recipe: Recipe, config: TrainConfig) -> Recipe:
    """Return the recipe with the configuration's stages, anchor and KL coefficient."""
    recipe = recipe.with_(**config.stages.replacements())
    anchor = choose_anchor(recipe, config)
    recipe = recipe if anchor == recipe.anchor else dataclasses.replace(recipe, anchor=anchor)
    return recipe if config.kl is None else recipe.with_kl(config.kl)


def recipe_notices(recipe: Recipe, config: TrainConfig) -> list[str]:
    """Return sentences on parts of a recipe that have no effect in a run, or another one than in the paper."""
    minibatches, epochs = updates_per_batch(recipe, config)
    notices = [sentence for part in recipe.shaping for sentence in _principle_notices(part)]
    if config.minibatches is None and recipe.minibatches > config.prompts:
        notices.append(
            f"recipe {recipe.name!r} takes {recipe.minibatches} updates an epoch; with --prompts {config.prompts} "
            f"there are at most {minibatches}, one for each task."
        )
    if config.dtype in HALF_PRECISION and recipe.anchor == "rescored":
        notices.append(
            f"weights are {config.dtype}, in which sampler and trainer round differently: ratios are taken against the "
            "policy at the beginning of the update; --anchor sampler takes the recorded log-probabilities."
        )
    if config.staleness:
        return notices + _staleness_notices(recipe, config, minibatches * epochs)
    if recipe.rollout_share == 0 or recipe.replay.name != "none":
        return notices
    if minibatches * epochs == 1 and (idle := _name_ratio_parts(recipe, SURROGATES, CORRECTORS)):
        notices.append(
            "with one update a batch on fresh samples every ratio is 1, so that bounds on ratios and penalties on "
            f"them have no effect ({idle}); with --minibatches or --epochs of 2 and more they act."
        )
    corrects = "anchor" in bind(CORRECTORS, recipe.corrector, Clock()).needs
    if ENGINES[config.engine].copies:
        if not corrects:
            notices.append(
                f"the engine {config.engine!r} rounds otherwise than the trainer, and recipe {recipe.name!r} leaves "
                "that gap (sampler_gap in metrics.jsonl) in its ratios; --anchor policy --corrector "
                '"truncated_is(cap=2)" corrects it.'
            )
    elif corrects:
        gap = "differ by rounding alone" if config.dtype in HALF_PRECISION else "are the same"
        notices.append(
            f"the corrector {recipe.corrector} is for stale samplers: here the policies that sample and train {gap}, "
            "so that it has next to no effect."
        )
    return notices


def _principle_notices(part: Component) -> Iterator[str]:
    """Yield a notice for each judge reward without a principle: the default principle and the judge it uses."""
    if part.name in REWARDS:
        known = inspect.signature(REWARDS[part.name]).parameters
        if {"principle", "judge"} <= known.keys() and "principle" not in part.params:
            judge = part.params.get("judge", known["judge"].default)
            yield (
                f"the reward {part.name!r} is given no principle, and scores by {known['principle'].default!r} before "
                f"the judge {judge!r}; name your own: {part.name}(judge=..., principle='...')."
            )
    for value in part.params.values():
        for inner in value if isinstance(value, list | tuple) else (value,):
            if isinstance(inner, Component):
                yield from _principle_notices(inner)


def _staleness_notices(recipe: Recipe, config: TrainConfig, updates: int) -> list[str]:
    """Return sentences on the recipe's treatment of samples that are older than the policy being trained.

    Args:
        updates: number of optimiser steps per rollout batch.
    """
    if recipe.rollout_share == 0:
        return []
    notices = []
    if recipe.anchor == "policy" and updates == 1 and (idle := _name_ratio_parts(recipe, SURROGATES)):
        notices.append(
            "with one update a batch every ratio to the policy before it is 1, however old the samples are, so that "
            f"bounds on ratios and penalties on them have no effect ({idle}); with --minibatches or --epochs of 2 and "
            "more they act."
        )
    age = "one update" if config.staleness == 1 else f"{config.staleness} updates"
    remedy = (
        'the recipes decoupled_ppo, tis and icepop do, as --anchor policy --corrector "truncated_is(cap=2)" does with '
        "others."
    )
    if not corrects_staleness(recipe):
        notices.append(
            f"samples are {age} old, and recipe {recipe.name!r} does not weigh them by how far the policy has moved "
            f"since; {remedy}"
        )
    elif config.dtype in HALF_PRECISION and recipe.anchor != "policy":
        notices.append(
            f"samples are {age} old and weights are {config.dtype}: ratios to the sampler hold its rounding, too, and "
            f"recipe {recipe.name!r} does not take the two apart; {remedy}"
        )
    return notices


def corrects_staleness(recipe: Recipe) -> bool:
    """Return True if the loss on rollouts reads the gap between policy and sampler, or has no policy gradient to
    correct."""
    if any("logp_mu_t" in _arrays(CORRECTORS, part) for part in _formulas(CORRECTORS, recipe.corrector)):
        return True
    sampler = {"logp_mu_t"} if recipe.anchor == "policy" else {"logp_mu_t", "logp_old_t"}
    parts = [_arrays(SURROGATES, part) for part in _formulas(SURROGATES, recipe.surrogate)]
    return not any("adv_t" in arrays and not arrays & sampler for arrays in parts)


def _arrays(stage: Stage, part: Component) -> frozenset[str]:
    target = stage[part.name]
    return frozenset() if inspect.isclass(target) else arrays_of(target)


def _name_ratio_parts(recipe: Recipe, *stages: Stage) -> str:
    """Name the parts of the loss that act only through ratios: components of ``stages``, and regularisers."""
    found: list[Component] = []
    for stage, part in ((SURROGATES, recipe.surrogate), (CORRECTORS, recipe.corrector)):
        if stage in stages:
            found += [inner for inner in _formulas(stage, part) if _compares_policies(stage, inner)]
    for part in recipe.regularisers:
        arrays = arrays_of(REGULARISERS[part.name])
        if _compares_policies(REGULARISERS, part) and not arrays - {"logp_t", "logp_old_t"}:
            found.append(part)
    return " and ".join(dict.fromkeys(map(str, found)))


def _formulas(stage: Stage, part: Component) -> Iterator[Component]:
    """Yield the component and, recursively, the components of its stage among its parameters."""
    yield part
    for value in part.params.values():
        if isinstance(value, Component) and value.name in stage:
            yield from _formulas(stage, value)


_WITHOUT_BOUNDS = ("ratio", "distill")
"""Surrogates that multiply by the ratio without any bound on it."""


def _compares_policies(stage: Stage, part: Component) -> bool:
    """Return True if a component reads log-probabilities of both the policy being trained and the anchor or sampler."""
    if part.name in _WITHOUT_BOUNDS:
        return False
    arrays = _arrays(stage, part)
    return "logp_t" in arrays and bool(arrays & {"logp_old_t", "logp_mu_t"})
