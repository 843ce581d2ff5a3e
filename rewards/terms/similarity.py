"""Likeness of a response to a reference text: whole text against whole text, or word against word (BMAS)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...checks import check_count
from ...errors import InputError
from ..embedding import Embedder, HashedNgrams, cosines, embed, words
from ..episode import Episode
from ..reward import Reward, register


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
        response = words(episode.response)[: self.max_words]
        reference = words(self._reference(episode))[: self.max_words]
        if not response:
            return 0.0
        rows = embed(self.embedder, response + reference)
        if rows is None:
            return None
        return 0.5 * sum(best_match(cosines(rows[: len(response)], rows[len(response) :])))
