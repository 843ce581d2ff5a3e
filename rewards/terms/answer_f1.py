"""Word overlap of an answer with reference answers, the outcome of open question answering."""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Sequence
from typing import Any

from ...errors import InputError
from ..episode import Episode
from ..reward import Reward, register

_ARTICLES = frozenset({"a", "an", "the"})
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def words_of(text: str, drop_articles: bool = False) -> list[str]:
    """The words of ``text``, in lower case and without ASCII punctuation."""
    words = text.lower().translate(_NO_PUNCTUATION).split()
    return [word for word in words if word not in _ARTICLES] if drop_articles else words


def token_f1(prediction: str, reference: str, drop_articles: bool = False) -> float:
    """Harmonic mean of the shares of the prediction's and the reference's words (as multisets) that are shared.

    Two texts without words are equal (1); one without words has 0.

    Args:
        prediction: what the agent answered.
        reference: a right answer.
        drop_articles: leave out "a", "an" and "the", as SQuAD's script does.
    """
    ours, theirs = words_of(prediction, drop_articles), words_of(reference, drop_articles)
    if not ours or not theirs:
        return float(ours == theirs)
    shared = sum((Counter(ours) & Counter(theirs)).values())
    return 2.0 * shared / (len(ours) + len(theirs))


def best_f1(prediction: str | None, references: Any, drop_articles: bool = False) -> float:
    """The highest `token_f1` over ``references``, one text or several; 0 for no prediction.

    Raises:
        InputError: the references are not texts, or there are none.
    """
    texts = [references] if isinstance(references, str) else references
    if not isinstance(texts, Sequence) or not texts or not all(isinstance(text, str) for text in texts):
        raise InputError(f"the reference must be a text or a list of texts, not {references!r}.")
    if prediction is None:
        return 0.0
    return max(token_f1(prediction, text, drop_articles) for text in texts)


@register("answer-f1")
class AnswerF1(Reward):
    """A term in [0, 1]: the F1 of the episode's answer and the extra "reference" (a text, or several of equal right).

    Args:
        drop_articles: leave out "a", "an" and "the" before counting.
    """

    paper = "SQuAD, arXiv 1606.05250 (F1 of answers)"
    needs = frozenset({"reference"})

    def __init__(self, drop_articles: bool = False):
        self.drop_articles = drop_articles

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    def value(self, episode: Episode) -> float:
        return best_f1(episode.answer, episode.extra("reference"), self.drop_articles)
