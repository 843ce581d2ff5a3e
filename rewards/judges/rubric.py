"""Rubrics: criteria with signed points, checked by a judge or by a verifier, and their aggregation into one number.

The mathematics is in small functions of scores in [0, 1], one per criterion: RuscaRL's signed score (arXiv 2508.16949),
the aggregations of Rubric Anchors (arXiv 2508.12790: weighted mean, veto, saturation, interaction, shaping of the high
range, whose exact forms the paper leaves open), and the filter by pass rate of InfiMed-ORBIT (arXiv 2510.15859).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...checks import check_choice, check_number
from ...errors import InputError

MET = 0.5
"""Lowest score of a criterion that counts as met."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """One line of a rubric.

    Args:
        text: the criterion in words for a judge; for the rule-coded judge, one of its principles.
        points: points for meeting the criterion; negative for a fault, 0 for a criterion that only vetoes.
        kind: "process" (a judge decides), "factual" (``verifier`` decides on the answer; without one, a judge),
            "statement" (met if the response has the result of ``reference``, see `has_result`) or "outcome" (met if the
            episode is a success).
        critical: a score below the veto's threshold makes the whole reward at most 0.
        verifier: name of a verifier for a factual criterion, or None.
        reference: the verifier's reference, or the statement.

    Raises:
        InputError: blank text, points that are not finite, an unknown kind, or a verifier with another kind than
            "factual".
    """

    text: str
    points: float = 1.0
    kind: str = "process"
    critical: bool = False
    verifier: str | None = None
    reference: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.text, str) or not self.text.strip():
            raise InputError(f"a criterion needs text that is not blank, not {self.text!r}.")
        check_number(f"the points of {self.text!r}", self.points)
        check_choice("the kind of a criterion", self.kind, ("process", "factual", "statement", "outcome"))
        if self.verifier is not None and self.kind != "factual":
            raise InputError(f"the criterion {self.text!r} has a verifier; give it kind='factual'.")

    @property
    def needs_judge(self) -> bool:
        """True if a judge decides whether the criterion is met."""
        return self.kind == "process" or (self.kind == "factual" and self.verifier is None)


_NUMBER = re.compile(r"(?<![\w.])[0-9]+(?:[.,][0-9]+)*(?![\w])")


def has_result(text: str, statement: str) -> bool:
    """Return True if a text contains the result of a statement: the statement's last number as a complete number, or
    the statement's words if it has no number."""
    wanted = _NUMBER.findall(statement)
    if wanted:
        return wanted[-1].replace(",", "") in {number.replace(",", "") for number in _NUMBER.findall(text)}
    return " ".join(statement.split()).casefold().rstrip(".") in " ".join(text.split()).casefold()


def rubric_of_solution(steps: Sequence[str]) -> list[dict[str, Any]]:
    """Write the rubric of a worked solution as data: a point for the result of each step before the answer, and as many
    points for the right answer as for all these steps together (at least one).

    Args:
        steps: the worked solution, the last step being the answer.
    """
    working = [str(step) for step in steps[:-1]]
    stated = [{"text": f"finds that {step}", "kind": "statement", "reference": step} for step in working]
    return [*stated, {"text": "gives the right answer", "kind": "outcome", "points": float(max(1, len(working)))}]


HACKING_DEFENCE = (
    Criterion("does not flatter", points=0.0, critical=True),
    Criterion("does not praise itself", points=0.0, critical=True),
)
"""Criteria that veto flattery of the reader and self-praise of the answer (Rubric Anchors); append to a rubric."""


def as_criterion(value: Criterion | str | Mapping[str, Any]) -> Criterion:
    """Resolve a criterion: a `Criterion` object, its text (worth one point), or its fields as data.

    Raises:
        InputError: ``value`` has another form.
    """
    if isinstance(value, Criterion):
        return value
    if isinstance(value, str):
        return Criterion(value)
    try:
        return Criterion(**value)
    except TypeError:
        raise InputError(
            f"a criterion is a Criterion, its text, or {{'text': ..., 'points': ...}}, not {value!r}."
        ) from None


def signed_score(points: Sequence[float], scores: Sequence[float], kept: Sequence[bool] | None = None) -> float:
    """Divide the points of the met criteria by the sum of the positive points; at most 1, negative for many faults.

    Args:
        points: points of each criterion, positive or negative.
        scores: score of each criterion, in [0, 1]; met from 0.5 on.
        kept: True for criteria that count in the numerator (`informative_criteria`); None keeps all. The denominator
            keeps all, so that dropping a criterion that every sibling meets shifts all siblings alike.

    Raises:
        InputError: lengths that differ, or no positive points.
    """
    kept = [True] * len(points) if kept is None else kept
    positive = sum(point for point in points if point > 0)
    if not len(points) == len(scores) == len(kept) or positive <= 0:
        raise InputError(f"a signed rubric needs a score for each criterion and positive points, not {list(points)!r}.")
    return sum(point for point, score, keep in zip(points, scores, kept) if keep and score >= MET) / positive


def weighted_mean(weights: Sequence[float], scores: Sequence[float]) -> float:
    """Return ``sum w s / sum w``.

    Raises:
        InputError: a negative weight, weights that sum to 0, or lengths that differ.
    """
    if len(weights) != len(scores) or min(weights, default=-1.0) < 0 or sum(weights) <= 0:
        raise InputError(f"a weighted mean needs a weight of at least 0 for each score, not {list(weights)!r}.")
    return sum(weight * score for weight, score in zip(weights, scores)) / sum(weights)


def apply_veto(value: float, scores: Sequence[float], critical: Sequence[bool], threshold: float = MET) -> float:
    """Return ``value``, or at most 0 if a critical score is below the threshold."""
    broken = any(score < threshold for score, is_critical in zip(scores, critical) if is_critical)
    return min(value, 0.0) if broken else value


def saturate(score: float, level: float = 1.0, slope: float = 0.25) -> float:
    """Return ``score``, with the part above ``level`` multiplied by ``slope`` in [0, 1]: concave and never falling."""
    return score if score <= level else level + slope * (score - level)


def interaction(scores: Sequence[float], pairs: Mapping[tuple[int, int], float]) -> float:
    """Return ``sum w_ij s_i s_j`` over the listed pairs of criteria: a bonus (or malus) for meeting both."""
    return sum(weight * scores[i] * scores[j] for (i, j), weight in pairs.items())


def stretch(value: float, power: float = 1.0) -> float:
    """Return ``value ** power``, with the value clipped to [0, 1]: a power above 1 spreads the high range."""
    return min(max(value, 0.0), 1.0) ** power


def informative_criteria(scores: Sequence[Sequence[float]], low: float = 0.0, high: float = 1.0) -> list[bool]:
    """Mark the criteria that distinguish siblings: those whose pass rate lies strictly between ``low`` and ``high``.

    Args:
        scores: [siblings][criteria]; a criterion is met from 0.5 on.
        low, high: bounds of the pass rate.
    """
    rates = [sum(score >= MET for score in column) / len(scores) for column in zip(*scores)]
    return [low < rate < high for rate in rates]


@dataclass(frozen=True)
class Aggregation:
    """Function that turns the scores of a rubric into one number.

    Args:
        form: "signed" (`signed_score`) or "mean" (`weighted_mean`, points as weights).
        veto: threshold below which a critical criterion makes the reward at most 0.
        saturation: (level, slope) of `saturate`, applied to each score in the form "mean"; None: not applied.
        interactions: {(i, j): weight} for criteria i and j, added in the form "mean", with the sum clipped to [0, 1].
        power: power of `stretch` in the form "mean".
    """

    form: str = "signed"
    veto: float = MET
    saturation: tuple[float, float] | None = None
    interactions: Mapping[tuple[int, int], float] | None = None
    power: float = 1.0

    def __post_init__(self) -> None:
        check_choice("the form of a rubric", self.form, ("signed", "mean"))
        check_number("veto", self.veto, 0.0, 1.0)
        check_number("power", self.power, 0.01, 100.0)
        if self.saturation is not None:
            level, slope = self.saturation
            check_number("the saturation's level", level, 0.0, 1.0)
            check_number("the saturation's slope", slope, 0.0, 1.0)
        if self.form == "signed" and (self.saturation or self.interactions or self.power != 1.0):
            raise InputError("saturation, interactions and power shape the form 'mean'; choose form='mean'.")

    def __call__(
        self, criteria: Sequence[Criterion], scores: Sequence[float], kept: Sequence[bool] | None = None
    ) -> float:
        """Aggregate ``scores``, one in [0, 1] per criterion; for ``kept`` see `signed_score`."""
        points = [criterion.points for criterion in criteria]
        if self.form == "signed":
            value = signed_score(points, scores, kept)
        else:
            shaped = [saturate(score, *self.saturation) for score in scores] if self.saturation else list(scores)
            if kept is not None:
                shaped = [score if keep else 0.0 for score, keep in zip(shaped, kept)]
            value = weighted_mean(points, shaped)
            if self.interactions:
                value = min(max(value + interaction(shaped, self.interactions), 0.0), 1.0)
            value = stretch(value, self.power)
        return apply_veto(value, scores, [criterion.critical for criterion in criteria], self.veto)

    def bounds(self, criteria: Sequence[Criterion]) -> tuple[float, float]:
        """Return the lowest and highest value for these criteria."""
        if self.form == "mean":
            return 0.0, 1.0
        positive = sum(criterion.points for criterion in criteria if criterion.points > 0)
        negative = sum(criterion.points for criterion in criteria if criterion.points < 0)
        return (negative / positive if positive else 0.0), 1.0
