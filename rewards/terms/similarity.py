"""Rewards for similarity: of a response to a reference text, and of a failed episode to its group's successes.

An `Embedder` maps texts to vectors; the default, hashed n-grams, needs no model. With "policy" or "reference" as the
embedder, the hidden states of that model are compared, which a learner measures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ...checks import option
from ...errors import InputError
from ..algebra.composite import Composite, Parts
from ..embedding import Embedder, EmbeddingSource, HashedNgrams, collect_features, cosines, embed, split_words
from ..episode import Episode
from ..reward import GroupReward, Reward, register
from ..verdict import Verdict


def ngram_overlap(text: str, reference: str, sizes: Sequence[int] = (1, 2, 3, 4)) -> float:
    """Return the mean over the sizes of the F1 of shared n-grams of words, each counted as often as both
    texts have it; sizes that neither text has are left out, and 0 is returned where no size is left."""
    words = [split_words(each) for each in (text, reference)]
    found = []
    for size in sizes:
        ours, theirs = (Counter(zip(*(each[i:] for i in range(size)))) for each in words)
        if total := ours.total() + theirs.total():
            found.append(2 * (ours & theirs).total() / total)
    return sum(found) / len(found) if found else 0.0


def best_match(similarity: np.ndarray) -> tuple[float, float]:
    """Return the mean of the rows' largest entries and that of the columns' largest; (0, 0) for an empty array."""
    if not similarity.size:
        return 0.0, 0.0
    return float(similarity.max(axis=1).mean()), float(similarity.max(axis=0).mean())


class _ReferenceSimilarity(Reward):
    """Base class of the similarity of a response to a reference text. The text comes from the option ``reference`` or
    ``episode.extra("reference")``. Without an embedder, the vectors of response and reference are read from the extras
    named in ``measures``."""

    needs = frozenset({"reference"})
    bounds = (-1.0, 1.0)
    measures: tuple[str, str]
    embedder: Embedder | str | None
    reference: Callable[[Episode], str] | None

    def setup(self) -> None:
        self.source = EmbeddingSource.of(self.embedder, *self.measures)
        self.needs, self.measure_options = self.source.needs, self.source.options
        if self.source.embedder is not None:
            self.needs = frozenset() if self.reference else frozenset({"reference"})
        elif self.reference is not None:
            raise InputError("a reference of your own cannot be measured by a model; pass an embedder with it.")

    def _reference(self, episode: Episode) -> str:
        text = self.reference(episode) if self.reference else episode.extra("reference")
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"the reference must be text that is not blank, not {text!r}.")
        return text

    def _measured_rows(self, episode: Episode) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the measured vectors of response and reference as rows; None if one is missing or not finite."""
        values = [episode.extra(name) for name in self.measures]
        if any(value is None for value in values):
            return None
        left, right = (np.atleast_2d(np.asarray(value, dtype=np.float64)) for value in values)
        return (left, right) if np.isfinite(left).all() and np.isfinite(right).all() else None


@register("semantic-similarity")
class SemanticSimilarity(_ReferenceSimilarity):
    """Cosine between the embeddings of the response and of a reference text.

    The embedder maps texts to vectors. The default, hashed n-grams, needs no model and compares words and pairs of
    words only; the paper uses a small encoder-only transformer. With "policy" or "reference" the learner measures mean
    hidden states of that model; None reads ``episode.extra("features")`` and ``episode.extra("reference_features")``.

    Raises:
        InputError: when called, a reference that is blank or is not text.
    """

    paper = "Shaping Explanations, arXiv 2509.13081"
    measures = ("features", "reference_features")
    embedder: Embedder | str | None = option(default=HashedNgrams(), says="source of the vectors.")
    reference: Callable[[Episode], str] | None = option(
        default=None, says='maps an episode to its reference text; None takes ``episode.extra("reference")``.'
    )

    def value(self, episode: Episode) -> float | None:
        if self.source.embedder is None:
            measured = self._measured_rows(episode)
            return None if measured is None else float(cosines(*measured)[0, 0])
        rows = embed(self.source.embedder, [episode.response, self._reference(episode)])
        return None if rows is None else float(cosines(rows)[0, 1])


@register("text-similarity")
class TextSimilarity(SemanticSimilarity):
    """Mix of shared n-grams of words (`ngram_overlap`) and of the cosine of `SemanticSimilarity` between the response
    and a reference text, as for generated questions (the n-gram score is ours: the paper's is not stated)."""

    paper = "semantic self-critical sequence training, arXiv 2108.12026"
    ngrams: float = option(default=0.5, low=0, high=1, says="weight of the n-grams; the cosine has the rest.")

    def setup(self) -> None:
        super().setup()
        if self.reference is None:
            self.needs = frozenset({*self.needs, "reference"})

    def value(self, episode: Episode) -> float | None:
        alike = super().value(episode)
        if alike is None:
            return None
        return self.ngrams * ngram_overlap(episode.response, self._reference(episode)) + (1 - self.ngrams) * alike


@register("bmas")
class BestMatchSimilarity(_ReferenceSimilarity):
    """Bidirectional max-average similarity (BMAS) of a response and a reference text.

    The value is the mean best match of the response's words in the reference, averaged with the mean best match of the
    reference's words in the response. The embedder maps words to vectors, all words of both texts in one call, so that
    a contextual encoder can use their neighbours. By the default, hashed n-grams of characters, "colour" and "color"
    are similar. With "policy" or "reference" the learner measures hidden states of that model at the tokens; None reads
    ``episode.extra("token_features")`` and ``episode.extra("reference_token_features")``.

    Raises:
        InputError: when called, a reference that is blank or is not text.
    """

    paper = "Mixed-R1, arXiv 2505.24164 (formula after the name)"
    measures = ("token_features", "reference_token_features")
    embedder: Embedder | str | None = option(
        default=HashedNgrams(sizes=(1, 2, 3), unit="character"), says="source of the vectors."
    )
    reference: Callable[[Episode], str] | None = option(
        default=None, says='maps an episode to its reference text; None takes ``episode.extra("reference")``.'
    )
    max_words: int = option(default=512, low=1, says="number of words of each text that are compared, from the start.")

    def value(self, episode: Episode) -> float | None:
        if self.source.embedder is None:
            measured = self._measured_rows(episode)
            return None if measured is None else 0.5 * sum(best_match(cosines(*measured)))
        response = split_words(episode.response)[: self.max_words]
        reference = split_words(self._reference(episode))[: self.max_words]
        if not response:
            return 0.0
        rows = embed(self.source.embedder, response + reference)
        if rows is None:
            return None
        return 0.5 * sum(best_match(cosines(rows[: len(response)], rows[len(response) :])))


def euclidean_distances(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the Euclidean distances [N, M] between the rows of ``left`` [N, D] and those of ``right`` [M, D]."""
    # Row by row: all differences at once would take N * M * D numbers.
    return np.stack([np.linalg.norm(right - row, axis=1) for row in left])


def dbscan(points: np.ndarray, radius: float, least: int) -> np.ndarray:
    """Return the DBSCAN cluster [N] of each row of ``points`` [N, D], numbered from 0, or -1 for noise.

    A point with ``least`` points within ``radius``, itself included, is a core point; a cluster consists of connected
    core points and all points within ``radius`` of them.
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
    """Return the means of the clusters of ``features`` [N, D], clustered after standardising; of all
    without a cluster."""
    deviation = features.std(axis=0)
    standard = (features - features.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    labels = dbscan(standard, radius, least)
    centres = [features[labels == label].mean(axis=0) for label in range(labels.max(initial=-1) + 1)]
    return np.stack(centres) if centres else features.mean(axis=0, keepdims=True)


def scaled_progress(distance: np.ndarray) -> np.ndarray:
    """Return ``0.6 * sigmoid(10 * (0.5 - d))`` as in SRPO's code, d scaled to [0, 1] over failures (0.5 if equal)."""
    spread = np.ptp(distance)
    scaled = (distance - distance.min()) / spread if spread > 0 else np.full(len(distance), 0.5)
    return 0.6 / (1.0 + np.exp(10.0 * (scaled - 0.5)))


def standardised_progress(distance: np.ndarray) -> np.ndarray:
    """Return ``sigmoid(-z)`` with z the distance in standard deviations from the mean, after SRPO's paper (arXiv
    2511.15605). The paper does not name the falling map to (0, 1); the logistic function is ours."""
    # Equal numbers can have a deviation above 0 by rounding, so the range is tested.
    spread = distance.std() if np.ptp(distance) > 0 else 0.0
    standard = (distance - distance.mean()) / spread if spread > 0 else np.zeros(len(distance))
    # Clipping keeps even an outlier of a huge group below 1, the reward of a success.
    return 1.0 / (1.0 + np.exp(np.clip(standard, -20.0, 20.0)))


def trajectory_text(episode: Episode) -> str:
    """Join the observations and actions of all turns into one text, one per line."""
    return "\n".join(f"{step.observation}\n{step.action}" for step in episode.steps)


_FORMS = {"code": scaled_progress, "paper": standardised_progress}


@register("self-reference")
class SelfReference(GroupReward):
    """1 for a success; less for a failure the farther it is from the nearest cluster of the group's successes.

    The reward of a failure lies in [0, 1); in a group without a success all get 0. The embedder maps trajectories, as
    text, to vectors; with "policy" or "reference" the learner measures mean hidden states of that model at the actions,
    and None reads ``episode.extra("features")``.
    """

    paper = "SRPO (self-referential), arXiv 2511.15605"
    complete = True
    ranks_success = True
    bounds = (0.0, 1.0)
    form: str = option(default="code", choices=_FORMS, says="`scaled_progress` or the paper's `standardised_progress`.")
    embedder: Embedder | str | None = option(default=HashedNgrams(), says="source of the vectors.")
    radius: float = option(default=0.5, low=0, says="radius of clusters, in standard deviations of the successes.")
    least: int = option(default=2, low=1, says="number of successes that make a cluster.")

    def setup(self) -> None:
        self.progress = _FORMS[self.form]
        self.source = EmbeddingSource.of(self.embedder, "features")
        self.needs, self.measure_options = self.source.needs, self.source.options

    def values(self, episodes: Sequence[Episode]) -> list[float | None]:
        success = np.array([episode.success for episode in episodes])
        rewards = success.astype(float)
        if success.all() or not success.any():
            return rewards.tolist()
        features = collect_features(episodes, self.source.embedder, trajectory_text)
        if features is None:
            return [None] * len(episodes)
        centres = success_centres(features[success], self.radius, self.least)
        rewards[~success] = self.progress(np.round(euclidean_distances(features[~success], centres).min(axis=1), 12))
        return rewards.tolist()


def spread_scores(scores: Sequence[float], softness: float = 0.01) -> list[float]:
    """Spread scores that lie close together over [0, 1]: (1 - w) s + w (s - min) / (max - min), w = spread / (spread +
    ``softness``), spread being max - min. The order stays, and equal scores do not change.

    ARMed (arXiv 2508.12957) rescales within the group; its formula is not stated, and this one is ours.
    """
    low, spread = min(scores, default=0.0), max(scores, default=0.0) - min(scores, default=0.0)
    if spread <= 0:
        return list(scores)
    weight = spread / (spread + softness)
    return [(1 - weight) * score + weight * (score - low) / spread for score in scores]


@register("armed")
class AdaptiveSemantics(Composite):
    """Reward of a whole episode: 1 for a success, plus a semantic score that is spread within the group.

    Semantic scores of fluent answers hardly differ; spread over the group they tell them apart (`spread_scores`).
    """

    paper = "ARMed, arXiv 2508.12957 (rescaling by our formula)"
    needs = frozenset({"reference"})
    complete = ranks_success = True
    semantic: Reward = option(default=SemanticSimilarity(), says="reward with the semantic score, in [-1, 1].")
    weight: float = option(default=0.5, low=0, high=0.5, says="weight of the semantic score.")
    softness: float = option(default=0.01, above=0, says="spread of a group's scores that is half trusted.")

    def setup(self) -> None:
        low, high = self.semantic.bounds
        if low < -1 or high > 1:
            raise InputError(f"the semantic score must lie in [-1, 1], not in [{low:g}, {high:g}]; put it into a clip.")
        self.take_parts({"semantic": self.semantic})
        self.complete = True

    @property
    def bounds(self) -> tuple[float, float]:
        return min(0.0, self.weight * self.semantic.bounds[0]), 1.0 + self.weight

    def combine_batch(
        self, groups: Sequence[Sequence[Episode]], verdicts: Sequence[Sequence[Mapping[str, Verdict]]]
    ) -> list[list[Mapping[str, float] | Parts]]:
        result: list[list[Mapping[str, float] | Parts]] = []
        for episodes, judged in zip(groups, verdicts, strict=True):
            spread = spread_scores([parts["semantic"].reward for parts in judged], self.softness)
            result.append(
                [
                    {"correctness": float(episode.success), "semantic": self.weight * score}
                    for episode, score in zip(episodes, spread, strict=True)
                ]
            )
        return result
