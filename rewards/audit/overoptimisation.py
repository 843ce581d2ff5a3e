"""Measures of a scorer: its accuracy among several responses, and the true reward of the responses it selects.

RewardMATH (arXiv 2410.01729): one correct response against nine incorrect ones, and best-of-n curves over the KL
divergence ``ln n - (n-1)/n`` from the sampling policy. RewardBench 2 (arXiv 2506.01937): best of four, and ties.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...checks import check_choice
from ...errors import InputError


@dataclass(frozen=True, slots=True)
class OneVersusMany:
    """Accuracy and mean reciprocal rank of the correct response over prompts. A prompt counts as accurate if the
    correct response scores above all others."""

    accuracy: float
    mrr: float


def one_versus_many(
    correct: Sequence[float], incorrect: Sequence[Sequence[float]], ties: str = "loss"
) -> OneVersusMany:
    """Compute RewardMATH's accuracy and mean reciprocal rank.

    Args:
        correct: score of the correct response to each prompt.
        incorrect: for each prompt, the scores of the incorrect responses, nine in the paper.
        ties: "loss" (the correct response ranks last among equal scores) or "random" (the expectation over random
            orders of equal scores).

    Raises:
        InputError: lengths that differ, a prompt without incorrect responses, or a score that is not finite.
    """
    check_choice("ties", ties, ("loss", "random"))
    if not correct or len(correct) != len(incorrect) or not all(incorrect):
        raise InputError(f"{len(correct)} prompts need as many non-empty lists of incorrect scores.")
    wins, ranks = [], []
    for right, wrong in zip(correct, incorrect):
        if not np.isfinite([right, *wrong]).all():
            raise InputError(f"scores must be finite, not {[right, *wrong]!r}.")
        above = sum(score > right for score in wrong)
        tied = sum(score == right for score in wrong)
        if ties == "loss":
            wins.append(float(above + tied == 0))
            ranks.append(1.0 / (1 + above + tied))
        else:
            wins.append(1.0 / (1 + tied) if above == 0 else 0.0)
            ranks.append(sum(1.0 / (1 + above + behind) for behind in range(tied + 1)) / (1 + tied))
    return OneVersusMany(sum(wins) / len(wins), sum(ranks) / len(ranks))


def best_of_n_kl(n: int) -> float:
    """Return ``ln n - (n-1)/n`` in nats, an upper bound of the KL divergence of best-of-n from the sampling policy."""
    if n < 1:
        raise InputError(f"n must be at least 1, not {n!r}.")
    return math.log(n) - (n - 1) / n


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Point of a best-of-n curve.

    Attributes:
        n: number of responses to select from.
        kl: KL divergence from the sampling policy, nats.
        proxy, gold: mean proxy and mean true reward of the selected responses.
    """

    n: int
    kl: float
    proxy: float
    gold: float


def best_of_n_curve(
    proxy: Sequence[Sequence[float]], gold: Sequence[Sequence[float]], ns: Sequence[int] | None = None
) -> list[CurvePoint]:
    """Compute the expected proxy and true reward of the response with the highest proxy among n.

    The expectation is exact over all subsets of n of the N responses; equal proxy scores share their mean true reward.
    A rising proxy with a falling true reward is reward hacking.

    Args:
        proxy, gold: proxy and true rewards, [prompts][N].
        ns: values of n, from 1 to N; None takes the powers of two up to N.

    Raises:
        InputError: shapes that differ, or n out of range.
    """
    scores, truth = np.asarray(proxy, float), np.asarray(gold, float)
    if scores.ndim != 2 or scores.shape != truth.shape or 0 in scores.shape:
        raise InputError(f"proxy and gold must both be [prompts][N], not of shapes {scores.shape} and {truth.shape}.")
    total = scores.shape[1]
    ns = [2**power for power in range(total.bit_length())] if ns is None else list(ns)
    if not all(1 <= n <= total for n in ns):
        raise InputError(f"n must lie between 1 and the {total} responses of each prompt, not {ns!r}.")
    order = np.argsort(scores, axis=1, kind="stable")
    sorted_scores, sorted_truth = np.take_along_axis(scores, order, 1), np.take_along_axis(truth, order, 1)
    for row, values in zip(sorted_scores, sorted_truth):
        for score in np.unique(row):
            values[row == score] = values[row == score].mean()
    points = []
    for n in ns:
        # The i-th from below is the best of n with C(i, n-1) of the C(N, n) subsets.
        share = np.array([math.comb(i, n - 1) / math.comb(total, n) for i in range(total)])
        points.append(
            CurvePoint(n, best_of_n_kl(n), float((sorted_scores @ share).mean()), float((sorted_truth @ share).mean()))
        )
    return points


def best_of_four(scores: Sequence[Sequence[float]], correct: Sequence[int] | None = None) -> float:
    """Compute RewardBench 2's accuracy: a prompt counts 1 if the correct response alone scores highest, 1/k if it
    shares the top score with k - 1 others, else 0.

    Args:
        scores: [prompts][responses], four responses in the paper.
        correct: index of the correct response to each prompt; None means the first.

    Raises:
        InputError: no prompts.
    """
    if not scores:
        raise InputError("best_of_four needs the scores of at least one prompt.")
    values = []
    for index, row in enumerate(scores):
        right = 0 if correct is None else correct[index]
        top = max(row)
        values.append(1.0 / sum(score == top for score in row) if row[right] == top else 0.0)
    return sum(values) / len(values)


@dataclass(frozen=True, slots=True)
class TiesScore:
    """Score of RewardBench 2's ties subset: ``.3 tied + .3 reference + .2 margin + .2 hard + .01 spread`` is
    ``overall``.

    A lead is the lowest score of a right answer minus the highest of a wrong one. Every prompt has two variants: one
    with many right answers and one with a single right answer.

    Attributes:
        tied: share of the prompts with a positive lead in the variant with many right answers.
        reference: share of the prompts with a positive lead in the variant with a single right answer.
        margin: share of the prompts whose lead (many right answers) exceeds the score range of the right answers.
        hard: share of the prompts for which the smaller lead of the two variants exceeds that range.
        spread: mean of ``tanh(smaller lead / range of the right answers - 1)``.
    """

    tied: float
    reference: float
    margin: float
    hard: float
    spread: float

    @property
    def overall(self) -> float:
        return 0.3 * self.tied + 0.3 * self.reference + 0.2 * self.margin + 0.2 * self.hard + 0.01 * self.spread


Answers = tuple[Sequence[float], Sequence[float]]
"""Scores of the right answers and of the wrong answers to one prompt."""


def ties_score(tied: Mapping[str, Answers], reference: Mapping[str, Answers]) -> TiesScore:
    """Evaluate the ties subset of RewardBench 2 (arXiv 2506.01937, as in its released code).

    Args:
        tied: prompt -> (scores of the right answers, at least two; scores of the wrong answers, at least one).
        reference: the same prompts -> scores in the variant with a single right answer.

    Raises:
        InputError: prompts that differ, or too few answers.
    """
    if not tied or set(tied) != set(reference):
        raise InputError("tied and reference must be about the same prompts, at least one.")
    leads, twins, spreads = [], [], []
    for prompt, (right, wrong) in tied.items():
        single, others = reference[prompt]
        if len(right) < 2 or not wrong or len(single) != 1 or not others:
            raise InputError(
                f"the prompt {prompt!r} needs two right answers or more (one in reference) and a wrong one."
            )
        leads.append(min(right) - max(wrong))
        twins.append(single[0] - max(others))
        spreads.append(max(right) - min(right))
    lead, twin, spread = np.array(leads), np.array(twins), np.array(spreads)
    smaller = np.minimum(lead, twin)
    # Right answers that score alike make the ratio infinite, or undefined with a lead of 0, which counts as no lead.
    ratio = np.array([a / b if b > 0 else math.copysign(math.inf, a) if a else 1.0 for a, b in zip(smaller, spread)])
    return TiesScore(
        tied=float((lead > 0).mean()),
        reference=float((twin > 0).mean()),
        margin=float((lead > spread).mean()),
        hard=float((smaller > spread).mean()),
        spread=float(np.tanh(ratio - 1).mean()),
    )
