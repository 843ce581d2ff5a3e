"""Rewards from trained models: "reward-model" for whole responses, "implicit-process" for turns.

This module does not import torch; a model that is loaded from a file does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...checks import option
from ...errors import InputError
from ..episode import Episode
from ..reward import PooledReward, StepReward, register
from .loading import load_with_torch
from .token_episode import TokenEpisode


def _load_model(_: str, model: Any) -> Any:
    if isinstance(model, (str, Path)):
        model = load_with_torch("RewardModel").load(model)
    if not callable(getattr(model, "score", None)):
        raise InputError(f"a reward model has score(prompts, responses), or is a file; {model!r} is neither.")
    return model


@register("reward-model")
class ModelReward(PooledReward):
    """Score of a trained reward model for the response to the prompt.

    Raises:
        MissingExtra: the model is a file and torch is absent.
    """

    paper = "Secrets of RLHF II, arXiv 2401.06080"
    model: Any = option(
        check=_load_model, says="a `RewardModel`, its file, or an object with ``score(prompts, responses)``."
    )
    squash: bool = option(default=True, says="pass the score through a logistic, so that it lies in (0, 1).")

    @property
    def bounds(self) -> tuple[float, float]:
        return (0.0, 1.0) if self.squash else (-math.inf, math.inf)

    def values(self, episodes: Sequence[Episode]) -> list[float | None]:
        """Score all episodes in one pass through the model."""
        scores = self.model.score([episode.prompt for episode in episodes], [episode.response for episode in episodes])
        # An infinite or undefined score makes the verdict invalid.
        finite = [float(score) if math.isfinite(score) else None for score in scores]
        if not self.squash:
            return list(finite)
        # The logistic function, in a form that does not overflow.
        return [None if score is None else 0.5 * (1.0 + math.tanh(score / 2)) for score in finite]


def _check_prm(_: str, prm: Any) -> Any:
    if not callable(getattr(prm, "turn_rewards", None)):
        raise InputError(f"an implicit process reward needs an ImplicitPRM, not {prm!r}.")
    return prm


@register("implicit-process")
class ImplicitProcessReward(StepReward):
    """Turn rewards of an implicit process reward model, one for each step.

    The caller must put a `TokenEpisode` with one turn per step into ``episode.extras["token_episode"]``. The value is
    the sum of the turn rewards, which is the model's reward for the whole sequence.

    Raises:
        InputError: when called: the numbers of turns and steps differ.
    """

    paper = "PRIME, arXiv 2502.01456; iStar, arXiv 2509.19199"
    needs = frozenset({"token_episode"})
    prm: Any = option(check=_check_prm, says="an `ImplicitPRM`, or an object with ``turn_rewards(token_episodes)``.")

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
