"""From texts to vectors without any model: hashed n-gram counts, and the cosine between vectors.

Novelty and similarity rewards take any `Embedder`: a callable from N texts to an array of N rows. The one here needs no
weights and no network, gives the same numbers in every process, and holds two texts without a word in common to be
orthogonal. A sentence encoder takes its place where meaning beyond shared words counts.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from .episode import Episode

Embedder = Callable[[Sequence[str]], np.ndarray]
"""N texts to an array of shape [N, D]."""

MAX_CHARACTERS = 100_000
"""Texts are read up to here, so that an answer of megabytes costs no more than a long one."""

_FOLDED = 32_768
_WORDS = re.compile(r"\w+|[^\w\s]")


def split_words(text: str) -> list[str]:
    """The words of ``text``, case-folded, and each punctuation mark by itself."""
    return _WORDS.findall(text[:MAX_CHARACTERS].casefold())


@dataclass(frozen=True)
class HashedNgrams:
    """Counts of n-grams, as rows of length 1 (of length 0 for a text without any).

    Args:
        sizes: how many units an n-gram has; (1, 2) counts single ones and pairs.
        unit: "word", or "character" (of the text in lower case, white space as single spaces).
        columns: None gives every n-gram met in one call a column of its own, so that no two collide; rows of different
            calls then do not compare. A number folds the n-grams by hash into that many columns, the same in every
            call and process. Beyond 32,768 different n-grams in one call, None folds as well.

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
            place = {gram: column for column, gram in enumerate(distinct)}
        else:
            place = {gram: _hash(gram) % width for gram in distinct}
        rows = np.zeros((len(texts), width or max(len(distinct), 1)))
        for row, count in zip(rows, counts, strict=True):
            for gram, number in count.items():
                row[place[gram]] += number
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.divide(rows, lengths, out=rows, where=lengths > 0)

    def _counts(self, text: str) -> Counter[str]:
        if self.unit == "word":
            # No word holds a space, so that joined words cannot be mistaken for others.
            units, joint = split_words(text), " "
        else:
            units, joint = list(" ".join(text[:MAX_CHARACTERS].lower().split())), ""
        return Counter(
            joint.join(units[start : start + size]) for size in self.sizes for start in range(len(units) - size + 1)
        )


def _hash(gram: str) -> int:
    return int.from_bytes(hashlib.blake2b(gram.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def embed(embedder: Embedder, texts: Sequence[str]) -> np.ndarray | None:
    """``embedder(texts)`` as a float64 array [N, D]; None where it gave anything that is not finite (it failed).

    Raises:
        InputError: the embedder returned another shape.
    """
    rows = np.asarray(embedder(texts), dtype=np.float64)
    if rows.ndim != 2 or len(rows) != len(texts):
        raise InputError(f"an embedder must return one row for each of {len(texts)} texts, not shape {rows.shape}.")
    return rows if np.isfinite(rows).all() else None


def features_of(
    episodes: Sequence[Episode], embedder: Embedder | None, text: Callable[[Episode], str] = lambda e: e.response
) -> np.ndarray | None:
    """One row an episode: ``embedder`` on its text, or the extra "features" where ``embedder`` is None.

    Returns:
        An array [N, D], or None where anything in it is not finite.

    Raises:
        InputError: the extras are missing, or are not vectors of one length.
    """
    if embedder is not None:
        return embed(embedder, [text(episode) for episode in episodes])
    vectors = [np.asarray(episode.extra("features"), dtype=np.float64) for episode in episodes]
    if any(vector.ndim != 1 or vector.shape != vectors[0].shape for vector in vectors):
        shapes = sorted({vector.shape for vector in vectors})
        raise InputError(f"the extra 'features' must be a vector, equally long in a group, not of shapes {shapes}.")
    rows = np.stack(vectors)
    return rows if np.isfinite(rows).all() else None


def cosines(left: np.ndarray, right: np.ndarray | None = None) -> np.ndarray:
    """Cosine between each row of ``left`` [N, D] and each of ``right`` [M, D] (``left`` itself by default).

    Rounded to 12 digits, so that equal rows give exactly equal numbers whatever the order of summation. A row of
    length 0 has cosine 0 to everything.
    """
    unit = [_unit(rows) for rows in ((left,) if right is None else (left, right))]
    return np.clip(np.round(unit[0] @ unit[-1].T, 12), -1.0, 1.0)


def _unit(rows: np.ndarray) -> np.ndarray:
    # Dividing by the largest entry first keeps squares of huge and of tiny numbers representable.
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    scaled = np.divide(rows, largest, out=np.zeros_like(rows), where=largest > 0)
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    return np.divide(scaled, lengths, out=np.zeros_like(scaled), where=lengths > 0)
