"""Process reward model that learns from search trees in which steps are right and wrong (OmegaPRM, arXiv 2406.06592).

A prefix is right if an episode through it has succeeded, and wrong if none of several has. Every first wrong step,
after a right prefix, gives a pair with the best right step after the same prefix, or else with that prefix itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...rewards.models.preferences import Preference
from ..grpo.rollouts.episode_player import EpisodePlayer
from .step_tree import StepTree
from .values import prefix_text


def first_error_pairs(tree: StepTree, player: EpisodePlayer, visits: int = 2) -> list[Preference]:
    """Return a pair of a right and a wrong prefix, as texts, for each first wrong step of a tree.

    Args:
        player: converts tokens to text.
        visits: least number of failed episodes through a prefix that is wrong; one is enough for a whole episode.
    """
    found: list[Preference] = []
    for parent in tree.root.walk():
        right = [child for child in parent.children if child.total > 0]
        for child in parent.children:
            known = child.visits >= visits or (child.final and child.visits)
            if child.total > 0 or not known or parent.total <= 0:
                continue
            better = max(right, key=lambda node: node.mean) if right else parent
            if better is not tree.root:
                prompt, chosen = prefix_text(tree, better, player)
                found.append(Preference(prompt, chosen, prefix_text(tree, child, player)[1]))
    return found


class StepModel:
    """Small reward model that learns from trees and is written to a file, which the search value "model" reads.

    Args:
        file: the file; it is replaced after each batch.
        epochs: passes over the pairs of a batch.
        seed: seed of the initial weights and of the order of the pairs.
    """

    def __init__(self, file: str, epochs: int = 4, seed: int = 0):
        from ...rewards.models.ngram_encoder import NgramEncoder  # loads torch
        from ...rewards.models.reward_model import RewardModel

        self.file, self.epochs, self.seed = file, epochs, seed
        self.model = RewardModel(NgramEncoder(dim=16, buckets=4096), hidden=16, seed=seed)

    def learn(self, pairs: Sequence[Preference]) -> dict[str, float]:
        """Learn from a batch's pairs; return their number and, if there are any, the share that the model had ordered
        rightly before."""
        if not pairs:
            return {"step_model/pairs": 0.0}
        before = self.model.accuracy(pairs)
        self.model.fit(pairs, epochs=self.epochs, seed=self.seed)
        self.model.save(self.file)
        return {"step_model/pairs": float(len(pairs)), "step_model/accuracy": before}

    def state_dict(self) -> dict[str, Any]:
        return {name: weight.tolist() for name, weight in self.model.state_dict().items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        import torch

        self.model.load_state_dict({name: torch.tensor(weight) for name, weight in state.items()})
