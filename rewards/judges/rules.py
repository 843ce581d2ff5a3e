"""Judge whose principles are coded as rules: for tests, and for users without an endpoint.

Each principle has an opposite with the score 1 - s, so that opposite principles rank in opposite order (the audit of
RewardAnything, arXiv 2506.03637). The rules count surface features, which a policy trained on them will exploit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ...errors import unknown_name
from .judge import JUDGES, Judge, Judgement

MAX_CHARACTERS = 100_000
"""Number of characters of a text that are searched; the length of a text counts in full."""

_POLITE = ("please", "thank you", "thanks", "kindly", "you are welcome", "would you", "sorry", "i hope this helps")
_RUDE = ("stupid", "idiot", "shut up", "obviously", "dumb", "whatever", "nonsense")
_EVIDENCE = ("according to", "https://", "http://", "doi:", "arxiv", "et al", "source:", "see also", "reported by")
_FLATTERY = (
    "great question",
    "excellent question",
    "brilliant question",
    "what a wonderful",
    "you are so smart",
    "you're absolutely right",
    "you are absolutely right",
    "i completely agree with you",
    "fantastic idea",
)
_SELF_PRAISE = (
    "this answer is correct",
    "this response is perfect",
    "the best possible answer",
    "my answer is comprehensive",
    "this is a high-quality",
    "this is a complete and accurate",
    "i have carefully verified",
    "deserves full marks",
    "deserves the highest score",
    "meets all criteria",
)
_CITATION = re.compile(r"\[[0-9]{1,4}\]|\([A-Z][a-z]{1,30},? [0-9]{4}\)")


def _saturate_count(count: float, half: float) -> float:
    """Map a count to [0, 1): 0 for a count of 0, 0.5 for a count of ``half``, towards 1 for large counts."""
    return count / (count + half)


def _occurrences(text: str, phrases: Sequence[str]) -> int:
    lowered = text[:MAX_CHARACTERS].lower()
    return sum(lowered.count(phrase) for phrase in phrases)


def _polite(text: str, reference: str | None) -> float:
    kind, rude = _occurrences(text, _POLITE), _occurrences(text, _RUDE)
    return 0.5 + 0.5 * (_saturate_count(kind, 1.0) - _saturate_count(rude, 1.0))


def _cites(text: str, reference: str | None) -> float:
    citations = sum(1 for _ in _CITATION.finditer(text[:MAX_CHARACTERS]))
    return _saturate_count(citations + _occurrences(text, _EVIDENCE), 1.0)


def _matches(text: str, reference: str | None) -> float:
    if reference is None or not reference.strip() or len(text) > 4 * len(reference) + MAX_CHARACTERS:
        return 0.0
    return float(" ".join(text.split()).casefold() == " ".join(reference.split()).casefold())


_RULES: dict[str, Callable[[str, str | None], float]] = {
    "long": lambda text, reference: _saturate_count(len(text), 500.0),
    "polite": _polite,
    "cites evidence": _cites,
    "flatters": lambda text, reference: float(_occurrences(text, _FLATTERY) > 0),
    "praises itself": lambda text, reference: float(_occurrences(text, _SELF_PRAISE) > 0),
    "matches the reference": _matches,
}
_OPPOSITES = {
    "short": "long",
    "rude": "polite",
    "cites no evidence": "cites evidence",
    "does not flatter": "flatters",
    "does not praise itself": "praises itself",
    "differs from the reference": "matches the reference",
}
_KEYWORDS, _NO_KEYWORDS = "keywords:", "no keywords:"
PRINCIPLES = (*_RULES, *_OPPOSITES, f"{_KEYWORDS} a, b", f"{_NO_KEYWORDS} a, b")


@JUDGES.register("rules")
class RuleJudge(Judge):
    """Judge that scores by coded rules, without a model.

    Principles: "short", "long", "polite", "rude", "cites evidence", "cites no evidence", "flatters", "does not
    flatter", "praises itself", "does not praise itself", "matches the reference" (equal up to case and white space),
    "differs from the reference", "keywords: a, b" (share of these that occur) and "no keywords: a, b". The score of a
    response does not depend on the other responses.

    Raises:
        InputError: on `score`, for any other principle.
    """

    paper = "RewardAnything, arXiv 2506.03637"

    name = "rules"

    def score(self, principle: str, prompt: str, responses: Sequence[str], reference: str | None = None) -> Judgement:
        rule = _rule(principle)
        scores = tuple(rule(response, reference) for response in responses)
        return Judgement(scores, tuple(f"{principle.strip()}: {score:.3g}" for score in scores))


def _rule(principle: str) -> Callable[[str, str | None], float]:
    wanted = " ".join(principle.casefold().split())
    for prefix, sign in ((_NO_KEYWORDS, -1), (_KEYWORDS, 1)):
        words = [word.strip() for word in wanted.removeprefix(prefix).split(",") if word.strip()]
        if wanted.startswith(prefix) and words:
            return lambda text, reference: _share(text, words) if sign > 0 else 1.0 - _share(text, words)
    if wanted in _OPPOSITES:
        opposite = _RULES[_OPPOSITES[wanted]]
        return lambda text, reference: 1.0 - opposite(text, reference)
    if wanted not in _RULES:
        raise unknown_name("principle of the rule-coded judge", principle, PRINCIPLES)
    return _RULES[wanted]


def _share(text: str, words: Sequence[str]) -> float:
    lowered = text[:MAX_CHARACTERS].casefold()
    return sum(word in lowered for word in words) / len(words)
