"""Ablations of a scorer's input: what a reward model reads, found by taking parts of the text away.

What Are Step-Level Reward Models Rewarding?, arXiv 2412.15904: step models kept their accuracy without natural language
and lost it without mathematics.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from ...estimates import rank_correlation

Score = Callable[[Sequence[str], Sequence[str]], Sequence[float]]
"""Function from prompts and responses to scores."""

_MATHEMATICS = re.compile(r"\\?[0-9$^_{}()\[\]+\-*/=<>|%\u00d7\u00f7\u2212.,]+|(?<![A-Za-z])[a-z](?![A-Za-z])")
_WORD = re.compile(r"[^\W\d_]{2,}")


def remove_words(text: str) -> str:
    """Remove all words of two letters and more, and the white space around them; mathematics stays."""
    lines = (" ".join(_WORD.sub(" ", line).split()) for line in text.split("\n"))
    return "\n".join(line for line in lines if line.strip(" .,:;!?"))


def remove_mathematics(text: str) -> str:
    """Remove numbers, signs and single letters; words stay."""
    lines = (" ".join(_MATHEMATICS.sub(" ", line).split()) for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


ABLATIONS: Mapping[str, Callable[[str, str], tuple[str, str]]] = {
    "full": lambda prompt, response: (prompt, response),
    "no words": lambda prompt, response: (prompt, remove_words(response)),
    "no mathematics": lambda prompt, response: (prompt, remove_mathematics(response)),
    "no context": lambda prompt, response: ("", response),
    "last line": lambda prompt, response: (prompt, response.rstrip().rpartition("\n")[2]),
}
"""Name of an ablation -> function from prompt and response to what is left of them."""


@dataclass(frozen=True, slots=True)
class AblationRow:
    """A scorer under one ablation.

    Attributes:
        name: a name in `ABLATIONS`.
        accuracy: share of the pairs whose right response scores higher; ties count half.
        drop: accuracy with the full text minus this accuracy.
        correlation: rank correlation of all scores with those of the full text (Spearman); NaN if either is constant.
    """

    name: str
    accuracy: float
    drop: float
    correlation: float


def ablate(score: Score, pairs: Sequence[tuple[str, str, str]]) -> list[AblationRow]:
    """Score pairs with parts of the text taken away.

    Args:
        score: the scorer.
        pairs: (prompt, right response, wrong response).

    Raises:
        InputError: no pairs.
    """
    if not pairs:
        raise InputError("an ablation needs at least one pair.")
    rows: list[AblationRow] = []
    full: np.ndarray = np.zeros(0)
    for name, take_away in ABLATIONS.items():
        texts = [take_away(prompt, response) for prompt, *both in pairs for response in both]
        scores = np.asarray(score([prompt for prompt, _ in texts], [text for _, text in texts]), float)
        leads = scores[::2] - scores[1::2]
        accuracy = float(np.where(leads == 0, 0.5, leads > 0).mean())
        full = scores if name == "full" else full
        rows.append(
            AblationRow(name, accuracy, rows[0].accuracy - accuracy if rows else 0.0, rank_correlation(full, scores))
        )
    return rows


def calibration_error(leads: Sequence[float], bins: int = 10) -> float:
    """Return the expected calibration error of sigmoid(lead) as the probability that the preferred response is right.

    Args:
        leads: score of the right response minus that of the wrong one, for each pair.
        bins: number of equal bins of the confidence, from 1/2 to 1.
    """
    values = np.asarray(leads, float)
    confidence = 1.0 / (1.0 + np.exp(-np.abs(values)))
    right = np.where(values == 0, 0.5, values > 0)
    place = np.minimum(((confidence - 0.5) * 2 * bins).astype(int), bins - 1)
    gaps = [abs(confidence[place == n].mean() - right[place == n].mean()) * (place == n).mean() for n in set(place)]
    return float(sum(gaps))
