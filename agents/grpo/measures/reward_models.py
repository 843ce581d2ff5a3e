"""Scores of a reward model, either trained on the run's successes and failures or loaded from a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from ....errors import InputError
from ....rewards import Episode
from ....rewards.models.ngram_encoder import NgramEncoder, ReferenceEncoder, with_reference
from ....rewards.models.objectives import OBJECTIVES
from ....rewards.models.preferences import corrupted_pairs, preference_pairs
from ....rewards.models.reward_model import RewardModel
from ..batch.trajectory import Group, Trajectory
from .judgements import for_each_valid
from .producer import Found, ProducerTools, produces


@produces("reward_model_score", "reference_scores")
class ScoresOfRewardModel:
    """Scores of a reward model for the response and for the reference answer.

    Without a file, a small untrained model is used. It scores the episodes of each step first, then learns from them:
    from all pairs of a success and a failure at the same task, and with ``corrupted`` from all pairs of a success and
    the same response with another answer (Cooper, arXiv 2508.05613, stage 2). Without a success nothing is learned.

    Args:
        model: file written by `RewardModel.save`, which is not trained further; None: train one as described.
        epochs: passes over the pairs of a step.
        seed: seed of the initial weights, and of corrupted answers.
        objective: what the model minimises, a name in `rewards.models.objectives.OBJECTIVES`.
        corrupted: also learn from corrupted answers.
        referenced: show the model the reference answer, which it compares with the response's (VerifyRM).
    """

    def __init__(
        self,
        model: str | None = None,
        epochs: int = 2,
        seed: int = 0,
        objective: str = "bradley-terry",
        corrupted: bool = False,
        referenced: bool = False,
    ):
        self.learns, self.epochs, self.seed = model is None, epochs, seed
        self.objective, self.corrupted, self.referenced = objective, corrupted, referenced
        self.rng = np.random.default_rng(seed)
        OBJECTIVES[objective]
        if model is None:
            with torch.random.fork_rng():
                torch.manual_seed(seed)
                encoder = ReferenceEncoder() if referenced else NgramEncoder(dim=16, buckets=1024)
                self.model = RewardModel(encoder, hidden=16, seed=seed)
        else:
            self.model = RewardModel.load(model, ReferenceEncoder() if referenced else None)

    def __call__(self, groups: Sequence[Group], tools: ProducerTools) -> Found:
        def measure(trajectories: list[Trajectory]) -> list[dict[str, Any]]:
            episodes = [trajectory.episode for trajectory in trajectories]
            if self.referenced:
                episodes = [_show_reference(episode) for episode in episodes]
            prompts = [episode.prompt for episode in episodes]
            scores = self.model.score(prompts, [episode.response for episode in episodes])
            references = [str(episode.extras.get("reference") or episode.response) for episode in episodes]
            of_references = self.model.score(prompts, references)
            self._learn(episodes)
            return [
                {"reward_model_score": score, "reference_scores": [reference]}
                for score, reference in zip(scores, of_references, strict=True)
            ]

        return for_each_valid(groups, measure)

    def _learn(self, episodes: Sequence[Episode]) -> None:
        """Fit the model to the pairs that a step's episodes give, if there are any."""
        if not self.learns:
            return
        pairs = preference_pairs(episodes)
        if self.corrupted:
            pairs += corrupted_pairs(episodes, self.rng)
        if pairs:
            self.model.fit(pairs, objective=self.objective, epochs=self.epochs, seed=self.seed)

    def state_dict(self) -> dict[str, Any]:
        if not self.learns:
            return {}
        weights = {name: weight.tolist() for name, weight in self.model.state_dict().items()}
        return {"weights": weights, "rng": self.rng.bit_generator.state}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if state:
            self.model.load_state_dict({name: torch.tensor(weight) for name, weight in state["weights"].items()})
            self.rng.bit_generator.state = state["rng"]


def _show_reference(episode: Episode) -> Episode:
    """Return the episode with its reference answer behind the prompt.

    Raises:
        InputError: the environment supplies no reference.
    """
    reference = episode.extras.get("reference")
    if reference is None:
        raise InputError(
            "a reward model that is shown references needs an environment that supplies the reference answer."
        )
    first, *rest = episode.steps
    shown = replace(first, observation=with_reference(str(first.observation), str(reference)))
    return replace(episode, steps=(shown, *rest))
