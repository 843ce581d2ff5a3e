"""Text vectors without a model (hashed n-gram counts), and the cosine between vectors.

Novelty and similarity rewards take any `Embedder`: a callable from N texts to an array of N rows. `HashedNgrams` needs
no weights and no network and gives the same numbers in every process; texts without a common word are orthogonal. A
sentence encoder compares meaning beyond shared words. So do the hidden states of the model in training: the learner
measures them if the embedder is the name "policy" or "reference".
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..checks import check_choice
from ..errors import InputError
from .episode import Episode

Embedder = Callable[[Sequence[str]], np.ndarray]
"""Callable from N texts to an array of shape [N, D]."""

MODELS = ("policy", "reference")
"""Names that may replace an embedder: the learner then measures the hidden states of the policy or the reference."""

MAX_CHARACTERS = 100_000
"""Number of characters read from the start of a text; bounds the cost of very long answers."""

_FOLDED = 32_768
_WORDS = re.compile(r"\w+|[^\w\s]")


def split_words(text: str) -> list[str]:
    """Split ``text`` into case-folded words and single punctuation marks."""
    return _WORDS.findall(text[:MAX_CHARACTERS].casefold())


@dataclass(frozen=True)
class HashedNgrams:
    """Counts of n-grams as rows of Euclidean length 1; the row of a text without n-grams is 0.

    Args:
        sizes: numbers of units in an n-gram; (1, 2) counts single units and pairs.
        unit: "word", or "character" (of the lower-cased text, with runs of white space as single spaces).
        columns: number of columns into which n-grams are hashed, the same in every call and process. None gives each
            n-gram of one call a separate column, without collisions; rows of different calls are then not comparable,
            and with more than 32,768 different n-grams in one call, these are hashed to 32,768 columns.

    Raises:
        InputError: an n-gram size or a number of columns below 1, or an unknown unit.
    """

    sizes: tuple[int, ...] = (1, 2)
    unit: str = "word"
    columns: int | None = None

    def __post_init__(self) -> None:
        if not self.sizes or any(size < 1 for size in self.sizes):
            raise InputError(f"sizes must be one or more n-gram sizes of at least 1, not {self.sizes!r}.")
        if self.unit not in ("word", "character"):
            raise InputError(f"unit must be 'word' or 'character', not {self.unit!r}.")
        if self.columns is not None and self.columns < 1:
            raise InputError(f"columns must be at least 1, or None, not {self.columns!r}.")

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        counts = [self._counts(text) for text in texts]
        distinct = dict.fromkeys(gram for count in counts for gram in count)
        width = self.columns or (_FOLDED if len(distinct) > _FOLDED else None)
        if width is None:
            column = {gram: index for index, gram in enumerate(distinct)}
        else:
            column = {gram: _hash(gram) % width for gram in distinct}
        rows = np.zeros((len(texts), width or max(len(distinct), 1)))
        for row, count in zip(rows, counts, strict=True):
            for gram, number in count.items():
                row[column[gram]] += number
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.divide(rows, lengths, out=rows, where=lengths > 0)

    def _counts(self, text: str) -> Counter[str]:
        if self.unit == "word":
            # Words hold no space, so different n-grams never join to the same text.
            units, joint = split_words(text), " "
        else:
            units, joint = list(" ".join(text[:MAX_CHARACTERS].lower().split())), ""
        return Counter(
            joint.join(units[start : start + size]) for size in self.sizes for start in range(len(units) - size + 1)
        )


@functools.lru_cache(maxsize=65_536)
def _hash(gram: str) -> int:
    return int.from_bytes(hashlib.blake2b(gram.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def embed(embedder: Embedder, texts: Sequence[str]) -> np.ndarray | None:
    """Return ``embedder(texts)`` as a float64 array [N, D], or None if an entry is not finite (the embedder failed).

    Raises:
        InputError: the embedder did not return a two-dimensional array with one row per text.
    """
    rows = np.asarray(embedder(texts), dtype=np.float64)
    if rows.ndim != 2 or len(rows) != len(texts):
        raise InputError(f"an embedder must return one row for each of {len(texts)} texts, not shape {rows.shape}.")
    return rows if np.isfinite(rows).all() else None


@dataclass(frozen=True)
class EmbeddingSource:
    """Source of the vectors that a reward compares: an embedder, or measures from the episode.

    Attributes:
        embedder: callable from texts to vectors; None if the vectors are measures.
        needs: names of the measures to read from ``Episode.extras``; empty with an embedder.
        options: measure name -> options for the measure's producer.
    """

    embedder: Embedder | None
    needs: frozenset[str] = frozenset()
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, embedder: Embedder | str | None, *measures: str) -> EmbeddingSource:
        """Build the source from the option ``embedder`` of a reward.

        Args:
            embedder: a callable, or a name in `MODELS`; None reads the measures from the episode.
            measures: names of the measures that replace an embedding.

        Raises:
            InputError: a name that is not in `MODELS`, or an object that is not callable.
        """
        if isinstance(embedder, str):
            check_choice("embedder", embedder, MODELS)
            return cls(None, frozenset(measures), {name: {"model": embedder} for name in measures})
        if embedder is not None and not callable(embedder):
            raise InputError(
                f"an embedder must be a callable from texts to vectors, or one of {MODELS}, not {embedder!r}."
            )
        return cls(embedder) if embedder is not None else cls(None, frozenset(measures))


def collect_features(
    episodes: Sequence[Episode],
    embedder: Embedder | None,
    text: Callable[[Episode], str] = lambda e: e.response,
    name: str = "features",
) -> np.ndarray | None:
    """Collect one row per episode: the embedding of its text, or ``episode.extra(name)`` if ``embedder`` is None.

    Returns:
        An array [N, D], or None if a value is None or not finite.

    Raises:
        InputError: an episode lacks the entry ``name`` in ``extras``, or the entries are not vectors of equal length.
    """
    if embedder is not None:
        return embed(embedder, [text(episode) for episode in episodes])
    values = [episode.extra(name) for episode in episodes]
    if any(value is None for value in values):
        return None
    vectors = [np.asarray(value, dtype=np.float64) for value in values]
    if any(vector.ndim != 1 or vector.shape != vectors[0].shape for vector in vectors):
        shapes = sorted({vector.shape for vector in vectors})
        raise InputError(f"the extra {name!r} must be a vector, equally long in a group, not of shapes {shapes}.")
    rows = np.stack(vectors)
    return rows if np.isfinite(rows).all() else None


def cosines(left: np.ndarray, right: np.ndarray | None = None) -> np.ndarray:
    """Return the cosines [N, M] between the rows of ``left`` [N, D] and those of ``right`` [M, D] (by default
    ``left``). Cosines are rounded to 12 digits, so that equal rows give exactly equal numbers whatever the order of
    summation. The cosine of a row of length 0 is 0."""
    unit = [_normalise_rows(rows) for rows in ((left,) if right is None else (left, right))]
    return np.clip(np.round(unit[0] @ unit[-1].T, 12), -1.0, 1.0)


def goal_projection(state: np.ndarray, goal: np.ndarray, baseline: np.ndarray, alpha: float) -> float:
    """Return ``1 - |P(s - g)|^2 / 2`` with ``P = alpha d d' / |d|^2 + (1 - alpha) I`` and ``d = g - b`` (VLM-RM, arXiv
    2310.12921, section 3).

    With alpha 0 this is the cosine of state and goal. With alpha 1 only the component of the state along the line from
    baseline to goal counts. The maximum is 1, at the goal.

    Args:
        state, goal, baseline: s, g and b, [D] each; they are scaled to length 1. If g = b, the first summand of P is 0.
        alpha: in [0, 1].
    """
    s, g, b = _normalise_rows(np.stack([state, goal, baseline]))
    direction, apart = g - b, s - g
    along = float(direction @ direction)
    line = direction * (float(direction @ apart) / along) if along else np.zeros_like(apart)
    projected = alpha * line + (1.0 - alpha) * apart
    return 1.0 - 0.5 * float(projected @ projected)


def _normalise_rows(rows: np.ndarray) -> np.ndarray:
    # Dividing by the largest entry first avoids overflow and underflow of the squares.
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    scaled = np.divide(rows, largest, out=np.zeros_like(rows), where=largest > 0)
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    return np.divide(scaled, lengths, out=np.zeros_like(scaled), where=lengths > 0)
