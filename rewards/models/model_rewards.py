"""Rewards from trained models: "reward-model" for whole responses, "implicit-process" for turns.

This module does not import torch; a model that is loaded from a file does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...checks import option
from ...errors import InputError
from ..episode import Episode
from ..reward import PooledReward, StepReward, register
from .loading import load_with_torch
from .token_episode import TokenEpisode

COMBINATIONS = {
    "mean": lambda scores: scores.mean(0),
    "worst": lambda scores: scores.min(0),
    "uncertain": lambda scores: scores.mean(0) - scores.var(0),
}
"""Combination of the scores of an ensemble, [models, n], into one score for each response, [n]."""


def load_models(place: str | Path) -> list[Any]:
    """Load the reward models of a file, or of a folder with files ``model*.safetensors``.

    Raises:
        InputError: a folder without such a file, or a file that is no reward model.
    """
    path = Path(place)
    files = sorted(path.glob("model*.safetensors")) if path.is_dir() else [path]
    if not files:
        raise InputError(
            f"{str(place)!r} has no model*.safetensors; give a run of --learner reward-model that has ended."
        )
    return [load_with_torch("RewardModel").load(file) for file in files]


def _load_model(_: str, model: Any) -> Any:
    if isinstance(model, (str, Path)):
        return load_models(model)
    if not callable(getattr(model, "score", None)):
        raise InputError(f"a reward model has score(prompts, responses), or is a file; {model!r} is neither.")
    return [model]


@register("reward-model")
class ModelReward(PooledReward):
    """Score of a trained reward model, or of an ensemble of them, for the response to the prompt.

    The combinations "worst" and "uncertain" (mean minus variance) of an ensemble are those of arXiv 2310.02743, which
    delay over-optimisation. With ``alone`` the model decides, so that a failure can outrank a success.

    Raises:
        MissingExtra: the model is a file and torch is absent.
    """

    paper = "Secrets of RLHF II, arXiv 2401.06080; Reward Model Ensembles, arXiv 2310.02743"
    model: Any = option(
        check=_load_model,
        says="a `RewardModel`, its file, a folder with files model*.safetensors, or an object with ``score(prompts, "
        "responses)``.",
    )
    squash: bool = option(default=True, says="pass the score through a logistic, so that it lies in (0, 1).")
    combine: str = option(default="mean", choices=COMBINATIONS, says="one score for the models of a folder.")
    alone: bool = option(default=False, says="replace the environment's reward instead of being added to it.")

    def setup(self) -> None:
        self.complete = self.alone

    @property
    def bounds(self) -> tuple[float, float]:
        return (0.0, 1.0) if self.squash else (-math.inf, math.inf)

    def values(self, episodes: Sequence[Episode]) -> list[float | None]:
        """Score all episodes in one pass through each model."""
        prompts, responses = [episode.prompt for episode in episodes], [episode.response for episode in episodes]
        found = np.array([model.score(prompts, responses) for model in self.model], float)
        scores = COMBINATIONS[self.combine](found).tolist()
        # An infinite or undefined score makes the verdict invalid.
        finite = [score if math.isfinite(score) else None for score in scores]
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
