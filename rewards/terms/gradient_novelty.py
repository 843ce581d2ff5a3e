"""Rewards scaled by how new a response's gradient direction is (G2RL): features come from the policy itself.

The paper's weights and bounds are not published in a form we could find; the structure follows its abstract, and what
is ours is said below.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...checks import check_number
from ..embedding import Embedder, cosines, features_of
from ..episode import Episode
from ..reward import GroupReward, register


def token_gradients(probabilities: np.ndarray, tokens: np.ndarray, output_weights: np.ndarray) -> np.ndarray:
    """[T, D]: gradient of each token's log-probability in the last hidden state, ``W' (e_y - p)``.

    Args:
        probabilities: [T, V], of the next token.
        tokens: [T], those that were sampled.
        output_weights: [V, D], of the output layer. The sequence's feature is a normalised sum of the rows.
    """
    errors = -np.asarray(probabilities, dtype=np.float64)
    errors[np.arange(len(tokens)), tokens] += 1.0
    return errors @ output_weights


def direction_novelty(similarity: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """``sqrt(max(0, 1 - mean_j s_ij^2))`` over the members j of the reference set other than i; 0 where there are none.

    Args:
        similarity: [G, G], cosines.
        reference: [G], who is in the set (the successes). The paper weighs members by a softmax of their rewards,
            which are equal among successes.
    """
    others = reference[None, :] & ~np.eye(len(reference), dtype=bool)
    count = others.sum(axis=1)
    squares = (np.square(similarity) * others).sum(axis=1)
    known = np.divide(squares, count, out=np.ones(len(reference)), where=count > 0)
    return np.sqrt(np.maximum(0.0, 1.0 - known))


@register("gradient-novelty")
class GradientNovelty(GroupReward):
    """1 for a success and -1 otherwise, times ``1 + weight * novelty`` against the group's successes.

    New directions are paid more among successes; failures in a direction that leads to successes are punished less
    than failures elsewhere. The sign never changes. A group without other successes is not scaled.

    Args:
        weight: lambda of the paper; 0 or more. Its value there is not known to us.
        embedder: from response texts to vectors; None reads the extra "features": for each episode the sum of
            `token_gradients` over the response.
    """

    paper = "G2RL, arXiv 2512.15687 (structure of the abstract)"
    complete = True
    ranks_success = True
    needs = frozenset({"features"})

    def __init__(self, weight: float = 1.0, embedder: Embedder | None = None):
        self.weight = check_number("weight", weight, low=0.0)
        self.embedder = embedder
        self.needs = frozenset() if embedder else frozenset({"features"})

    @property
    def bounds(self) -> tuple[float, float]:
        return -1.0 - self.weight, 1.0 + self.weight

    def values(self, episodes: Sequence[Episode]) -> list[float | None]:
        features = features_of(episodes, self.embedder)
        if features is None:
            return [None] * len(episodes)
        success = np.array([episode.success for episode in episodes])
        scale = 1.0 + self.weight * direction_novelty(cosines(features), success)
        return np.where(success, scale, -scale).tolist()
