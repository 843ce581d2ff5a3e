"""Rewards from trained models: "reward-model" for whole responses, "implicit-process" for turns.

This module does not import torch; a model that is loaded from a file does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...errors import InputError
from ..episode import Episode
from ..reward import PooledReward, StepReward, register
from .loading import load_with_torch
from .token_episode import TokenEpisode


@register("reward-model")
class ModelReward(PooledReward):
    """The score of a trained reward model for the response to the prompt.

    Args:
        model: a `RewardModel`, anything with ``score(prompts, responses) -> numbers``, or a file that its ``save``
            wrote.
        squash: True passes the score through a logistic, so that it lies in (0, 1).

    Raises:
        InputError: no model can be made of ``model``.
        MissingExtra: the model is a file and torch is absent.
    """

    paper = "Secrets of RLHF II, arXiv 2401.06080"

    def __init__(self, model: Any, squash: bool = True):
        if isinstance(model, (str, Path)):
            model = load_with_torch("RewardModel").load(model)
        if not callable(getattr(model, "score", None)):
            raise InputError(f"a reward model has score(prompts, responses), or is a file; {model!r} is neither.")
        self.model = model
        self.squash = squash

    @property
    def bounds(self) -> tuple[float, float]:
        return (0.0, 1.0) if self.squash else (-math.inf, math.inf)

    def values(self, episodes: Sequence[Episode]) -> list[float | None]:
        """Score all episodes in one pass through the model."""
        scores = self.model.score([episode.prompt for episode in episodes], [episode.response for episode in episodes])
        # An infinite or undefined score makes the episode not valid.
        finite = [float(score) if math.isfinite(score) else None for score in scores]
        if not self.squash:
            return list(finite)
        # The logistic function, in a form that does not overflow.
        return [None if score is None else 0.5 * (1.0 + math.tanh(score / 2)) for score in finite]


@register("implicit-process")
class ImplicitProcessReward(StepReward):
    """The turn rewards of an implicit process reward model, one for each step.

    The caller puts a `TokenEpisode` with one turn per step into ``episode.extras["token_episode"]``. The value is the
    sum of the turn rewards, which is the model's reward for the whole sequence.

    Args:
        prm: an `ImplicitPRM`, or anything with ``turn_rewards(token_episodes) -> [numbers]``.

    Raises:
        InputError: ``prm`` has no ``turn_rewards``; on use, for another number of turns than of steps.
    """

    paper = "PRIME, arXiv 2502.01456; iStar, arXiv 2509.19199"
    needs = frozenset({"token_episode"})

    def __init__(self, prm: Any):
        if not callable(getattr(prm, "turn_rewards", None)):
            raise InputError(f"an implicit process reward needs an ImplicitPRM, not {prm!r}.")
        self.prm = prm

    def values(self, episode: Episode) -> Sequence[float] | None:
        tokens = episode.extra("token_episode")
        if not isinstance(tokens, TokenEpisode):
            raise InputError(f"the extra 'token_episode' must be a TokenEpisode, not {tokens!r}.")
        if len(tokens.turns) != len(episode.steps):
            raise InputError(
                f"the token episode has {len(tokens.turns)} turns for {len(episode.steps)} steps; give one a step."
            )
        rewards = self.prm.turn_rewards([tokens])[0]
        return rewards if all(math.isfinite(reward) for reward in rewards) else None
