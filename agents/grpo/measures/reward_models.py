"""Scores of a reward model, either trained on the run's successes and failures or loaded from a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ....rewards.models.loading import load_with_torch
from ....rewards.models.ngram_encoder import NgramEncoder
from ....rewards.models.preferences import preference_pairs
from ....rewards.models.reward_model import RewardModel
from ..batch.trajectory import Group, Trajectory
from .judgements import for_each_valid
from .producer import Found, ProducerTools, produces


@produces("reward_model_score", "reference_scores")
class ScoresOfRewardModel:
    """Scores of a Bradley-Terry model for the response and for the reference answer.

    Without a file, a small untrained model is used. It scores the episodes of each step first, then learns from all
    pairs of a success and a failure at the same task.

    Args:
        model: file written by `RewardModel.save`, which is not trained further; None: train one as described.
        epochs: passes over the pairs of a step.
        seed: seed of the initial weights.
    """

    def __init__(self, model: str | None = None, epochs: int = 2, seed: int = 0):
        self.learns, self.epochs, self.seed = model is None, epochs, seed
        if model is None:
            with torch.random.fork_rng():
                torch.manual_seed(seed)
                self.model = RewardModel(NgramEncoder(dim=16, buckets=1024), hidden=16, seed=seed)
        else:
            self.model = load_with_torch("RewardModel").load(model)

    def __call__(self, groups: Sequence[Group], tools: ProducerTools) -> Found:
        def measure(trajectories: list[Trajectory]) -> list[dict[str, Any]]:
            episodes = [trajectory.episode for trajectory in trajectories]
            prompts = [episode.prompt for episode in episodes]
            scores = self.model.score(prompts, [episode.response for episode in episodes])
            references = [str(episode.extras.get("reference") or episode.response) for episode in episodes]
            of_references = self.model.score(prompts, references)
            pairs = preference_pairs(episodes) if self.learns else []
            if pairs:
                self.model.fit(pairs, epochs=self.epochs, seed=self.seed)
            return [
                {"reward_model_score": score, "reference_scores": [reference]}
                for score, reference in zip(scores, of_references, strict=True)
            ]

        return for_each_valid(groups, measure)

    def state_dict(self) -> dict[str, Any]:
        if not self.learns:
            return {}
        return {name: weight.tolist() for name, weight in self.model.state_dict().items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.model.load_state_dict({name: torch.tensor(weight) for name, weight in state.items()})
