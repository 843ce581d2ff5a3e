"""Progress of failed episodes, read off their distance to the group's own successes (SRPO)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...checks import check_choice, check_count, check_number
from ..embedding import Embedder, HashedNgrams, features_of
from ..episode import Episode
from ..reward import GroupReward, register


def distances(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Euclidean distance between each row of ``left`` [N, D] and each of ``right`` [M, D]."""
    # Row by row: all differences at once would take N * M * D numbers.
    return np.stack([np.linalg.norm(right - row, axis=1) for row in left])


def dbscan(points: np.ndarray, radius: float, least: int) -> np.ndarray:
    """Cluster of each row of ``points`` [N, D], from 0, or -1 for noise.

    A point with ``least`` points within ``radius``, itself included, is a core; a cluster is what cores reach.
    """
    near = distances(points, points) <= radius
    core = near.sum(axis=1) >= least
    labels = np.full(len(points), -1)
    cluster = 0
    for seed in range(len(points)):
        if not core[seed] or labels[seed] >= 0:
            continue
        labels[seed] = cluster
        waiting = [seed]
        while waiting:
            point = waiting.pop()
            if core[point]:
                reached = np.flatnonzero(near[point] & (labels < 0))
                labels[reached] = cluster
                waiting.extend(reached.tolist())
        cluster += 1
    return labels


def success_centres(features: np.ndarray, radius: float = 0.5, least: int = 2) -> np.ndarray:
    """Means of the clusters of standardised ``features`` [N, D], in their own units; their mean if none forms."""
    deviation = features.std(axis=0)
    standard = (features - features.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    labels = dbscan(standard, radius, least)
    found = [features[labels == label].mean(axis=0) for label in range(labels.max(initial=-1) + 1)]
    return np.stack(found) if found else features.mean(axis=0, keepdims=True)


def progress_by_rank(distance: np.ndarray) -> np.ndarray:
    """The released code: ``0.6 * sigmoid(10 * (0.5 - d))``, d scaled to [0, 1] over the failures (0.5 if all equal)."""
    spread = np.ptp(distance)
    scaled = (distance - distance.min()) / spread if spread > 0 else np.full(len(distance), 0.5)
    return 0.6 / (1.0 + np.exp(10.0 * (scaled - 0.5)))


def progress_by_deviation(distance: np.ndarray) -> np.ndarray:
    """The paper: the distance in standard deviations, mapped to (0, 1) and falling (here by the logistic function)."""
    # Equal numbers can have a deviation in the last bit, hence no test of it alone.
    spread = distance.std() if np.ptp(distance) > 0 else 0.0
    standard = (distance - distance.mean()) / spread if spread > 0 else np.zeros(len(distance))
    # Clipped so that even an outlier of a huge group stays below 1, the worth of a success.
    return 1.0 / (1.0 + np.exp(np.clip(standard, -20.0, 20.0)))


def trajectory(episode: Episode) -> str:
    """All that was read and written, turn by turn."""
    return "\n".join(f"{step.observation}\n{step.action}" for step in episode.steps)


_FORMS = {"code": progress_by_rank, "paper": progress_by_deviation}


@register("self-reference")
class SelfReference(GroupReward):
    """1 for a success; for a failure a progress below 1 that falls with its distance to the nearest cluster of the
    group's successes; 0 for all where nobody succeeded.

    Args:
        form: "code" (at most 0.6) or "paper": see `progress_by_rank` and `progress_by_deviation`.
        embedder: from trajectories, as text, to vectors; None reads the extra "features". By default hashed n-grams.
        radius: of the clusters, in standard deviations of the successes.
        least: how many successes make a cluster.
    """

    paper = "SRPO (self-referential), arXiv 2511.15605"
    complete = True
    ranks_success = True

    def __init__(
        self,
        form: str = "code",
        embedder: Embedder | None = HashedNgrams(),  # noqa: B008 frozen
        radius: float = 0.5,
        least: int = 2,
    ):
        self.progress = _FORMS[check_choice("form", form, _FORMS)]
        self.embedder = embedder
        self.radius = check_number("radius", radius, low=0.0)
        self.least = check_count("least", least, low=1)
        self.needs = frozenset() if embedder else frozenset({"features"})

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    def values(self, episodes: Sequence[Episode]) -> list[float | None]:
        success = np.array([episode.success for episode in episodes])
        rewards = success.astype(float)
        if success.all() or not success.any():
            return rewards.tolist()
        features = features_of(episodes, self.embedder, trajectory)
        if features is None:
            return [None] * len(episodes)
        centres = success_centres(features[success], self.radius, self.least)
        rewards[~success] = self.progress(np.round(distances(features[~success], centres).min(axis=1), 12))
        return rewards.tolist()
