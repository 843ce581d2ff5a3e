"""Rewards for likeness: of a response to a reference text, and of a failed episode to its group's successes.

Texts become vectors through an `Embedder`; the default, hashed n-grams, needs no model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...checks import check_choice, check_count, check_number
from ...errors import InputError
from ..embedding import Embedder, HashedNgrams, cosines, embed, features_of, split_words
from ..episode import Episode
from ..reward import GroupReward, Reward, register


def best_match(similarity: np.ndarray) -> tuple[float, float]:
    """Mean over rows of the greatest entry, and over columns likewise; (0, 0) without rows or columns."""
    if not similarity.size:
        return 0.0, 0.0
    return float(similarity.max(axis=1).mean()), float(similarity.max(axis=0).mean())


class _Likeness(Reward):
    """Reads the reference: the extra "reference", or what the argument of that name gives."""

    needs = frozenset({"reference"})

    def __init__(self, embedder: Embedder, reference: Callable[[Episode], str] | None):
        self.embedder = embedder
        self.reference = reference
        self.needs = frozenset() if reference else frozenset({"reference"})

    @property
    def bounds(self) -> tuple[float, float]:
        return -1.0, 1.0

    def _reference(self, episode: Episode) -> str:
        text = self.reference(episode) if self.reference else episode.extra("reference")
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"the reference must be text that is not blank, not {text!r}.")
        return text


@register("semantic-similarity")
class SemanticSimilarity(_Likeness):
    """The cosine between the embeddings of the response and of a reference text.

    Args:
        embedder: from texts to vectors. The default, hashed n-grams, needs no model and sees words and pairs of words
            only; the paper uses a small encoder-only transformer.
        reference: from an episode to its reference text; by default the extra "reference".

    Raises:
        InputError: when called, a reference that is not text or blank.
    """

    paper = "Shaping Explanations, arXiv 2509.13081"

    def __init__(
        self,
        embedder: Embedder = HashedNgrams(),  # noqa: B008 frozen
        reference: Callable[[Episode], str] | None = None,
    ):
        super().__init__(embedder, reference)

    def value(self, episode: Episode) -> float | None:
        rows = embed(self.embedder, [episode.response, self._reference(episode)])
        return None if rows is None else float(cosines(rows)[0, 1])


@register("bmas")
class BestMatchSimilarity(_Likeness):
    """Bidirectional max-average similarity: half the mean best match of the response's words in the reference, and
    half that of the reference's words in the response.

    Args:
        embedder: from words to vectors, all words of both texts in one call. By default hashed character trigrams, by
            which "colour" and "color" are alike; a contextual encoder may look at the neighbours.
        reference: from an episode to its reference text; by default the extra "reference".
        max_words: of each text, so many are compared.

    Raises:
        InputError: when called, a reference that is not text or blank.
    """

    paper = "Mixed-R1, arXiv 2505.24164 (formula after the name)"

    def __init__(
        self,
        embedder: Embedder = HashedNgrams(sizes=(1, 2, 3), unit="character"),  # noqa: B008 frozen
        reference: Callable[[Episode], str] | None = None,
        max_words: int = 512,
    ):
        super().__init__(embedder, reference)
        self.max_words = check_count("max_words", max_words, low=1)

    def value(self, episode: Episode) -> float | None:
        response = split_words(episode.response)[: self.max_words]
        reference = split_words(self._reference(episode))[: self.max_words]
        if not response:
            return 0.0
        rows = embed(self.embedder, response + reference)
        if rows is None:
            return None
        return 0.5 * sum(best_match(cosines(rows[: len(response)], rows[len(response) :])))


def euclidean_distances(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Euclidean distance between each row of ``left`` [N, D] and each of ``right`` [M, D]."""
    # Row by row: all differences at once would take N * M * D numbers.
    return np.stack([np.linalg.norm(right - row, axis=1) for row in left])


def dbscan(points: np.ndarray, radius: float, least: int) -> np.ndarray:
    """Cluster of each row of ``points`` [N, D], from 0, or -1 for noise.

    A point with ``least`` points within ``radius``, itself included, is a core; a cluster is what cores reach.
    """
    near = euclidean_distances(points, points) <= radius
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
        rewards[~success] = self.progress(np.round(euclidean_distances(features[~success], centres).min(axis=1), 12))
        return rewards.tolist()
