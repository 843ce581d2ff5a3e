"""Elliptical novelty bonus on representations (RepExp): responses in directions that their siblings do not cover."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...checks import check_count, check_number
from ..embedding import Embedder, HashedNgrams, features_of
from ..episode import Episode
from ..reward import GroupReward, register


def elliptical_bonus(features: np.ndarray, ridge: float = 0.01, leave_one_out: bool = False) -> np.ndarray:
    """``h_i' V^-1 h_i`` for each row h_i of ``features`` [G, D], with ``V = ridge * I + sum_j h_j h_j'``.

    The leverage of a row lies in [0, 1). With ``leave_one_out`` row i is not in its own V, and the bonus, leverage /
    (1 - leverage), is bounded only by ``|h_i|^2 / ridge``.
    """
    # Through the Gram matrix [G, G]: exact, and independent of the width of the features.
    gram = features @ features.T
    leverage = np.clip(np.diag(np.linalg.solve(gram + ridge * np.eye(len(gram)), gram)), 0.0, 1.0)
    if not leave_one_out:
        return leverage
    bound = np.diag(gram) / ridge
    return np.minimum(leverage / np.maximum(1.0 - leverage, 1e-12), bound)


def sparse_projection(width: int, dimension: int, rng: np.random.Generator) -> np.ndarray:
    """[width, dimension]: entries 0 but for one in sqrt(width), which are plus or minus the size that keeps lengths."""
    density = 1.0 / max(np.sqrt(width), 1.0)
    signs = rng.choice([-1.0, 0.0, 1.0], size=(width, dimension), p=[density / 2, 1 - density, density / 2])
    return signs / np.sqrt(density * dimension)


def coreset(features: np.ndarray, size: int, ridge: float = 0.01) -> list[int]:
    """The test-time half: indices of ``size`` rows, each the one of greatest bonus given those before it."""
    left, inverse, chosen = list(range(len(features))), np.eye(features.shape[1]) / ridge, []
    for _ in range(min(size, len(features))):
        bonuses = np.einsum("id,de,ie->i", features[left], inverse, features[left])
        best = left.pop(int(np.argmax(np.round(bonuses, 12))))
        chosen.append(best)
        direction = inverse @ features[best]
        inverse -= np.outer(direction, direction) / (1.0 + features[best] @ direction)
    return chosen


@register("repexp")
class EllipticalNovelty(GroupReward):
    """1 for a success and 0 otherwise, plus ``weight`` times the elliptical bonus of the response among its siblings.

    Nobody gets a bonus in a group without a success. With the leverage and a weight up to 1 no failure outranks a
    success; the leave-one-out form is not bounded so and makes no such promise.

    Args:
        weight: of the bonus; 0 or more.
        ridge: the regulariser of the covariance, above 0.
        embedder: from response texts to vectors; None reads the extra "features" (in the paper the mean last hidden
            state of the frozen base model over the response). By default hashed n-grams, offline.
        dimension: wider features are projected at random to this many; None keeps them. The paper uses 32, and 128 for
            hard tasks.
        centre: whether the group's mean is taken off first.
        leave_one_out: compare each response with the others only. The paper's script uses the leverage, the released
            configuration leave-one-out.
        seed: of the projection.
    """

    paper = "RepExp, arXiv 2510.11686"
    complete = True
    ranks_success = True

    def __init__(
        self,
        weight: float = 0.01,
        ridge: float = 0.01,
        embedder: Embedder | None = HashedNgrams(),  # noqa: B008 frozen
        dimension: int | None = 32,
        centre: bool = True,
        leave_one_out: bool = False,
        seed: int = 0,
    ):
        self.weight = check_number("weight", weight, low=0.0)
        self.ridge = check_number("ridge", ridge, low=1e-12)
        self.embedder = embedder
        self.dimension = None if dimension is None else check_count("dimension", dimension, low=1)
        self.centre = centre
        self.leave_one_out = leave_one_out
        self.seed = check_count("seed", seed)
        self.needs = frozenset() if embedder else frozenset({"features"})
        self.ranks_success = not leave_one_out and weight <= 1

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, np.inf if self.leave_one_out else 1.0 + self.weight

    def values(self, episodes: Sequence[Episode]) -> list[float | None]:
        success = np.array([float(episode.success) for episode in episodes])
        if not success.any():
            return success.tolist()
        features = features_of(episodes, self.embedder)
        if features is None:
            return [None] * len(episodes)
        if self.dimension is not None and features.shape[1] > self.dimension:
            features = features @ sparse_projection(features.shape[1], self.dimension, np.random.default_rng(self.seed))
        if self.centre:
            features = features - features.mean(axis=0)
        return (success + self.weight * elliptical_bonus(features, self.ridge, self.leave_one_out)).tolist()
