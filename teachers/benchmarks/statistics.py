"""Means over seeds with 95 % intervals, alone and paired with the uniform teacher's runs of the same seeds.

Interquartile means and their stratified bootstrap follow Agarwal et al. 2021 (arXiv 2108.13264, section 4.3) and their
library rliable.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...estimates import MeanEstimate, estimate_mean, interquartile_mean
from .table import UNIFORM

RESAMPLES = 2000


@dataclass(frozen=True)
class Line:
    """One teacher in one setting. ``gain`` is the paired difference to the uniform teacher; None for the uniform
    teacher, or without common seeds. ``measures`` are means over seeds; ``columns`` are the measures that the table
    shows next to the score, with intervals."""

    setting: str
    teacher: str
    score: MeanEstimate
    gain: MeanEstimate | None
    measures: Mapping[str, float]
    calls: Mapping[str, float]
    columns: Mapping[str, MeanEstimate] = field(default_factory=dict)


@dataclass(frozen=True)
class Standing:
    """One teacher over all its settings.

    Attributes:
        worst, mean: worst and mean rank (1 is best; ties share a rank).
        level: number of settings in which the teacher is first or has the first one's mean within its 95 % interval.
        settings: number of settings in which it ran.
    """

    teacher: str
    worst: float
    mean: float
    level: int
    settings: int


def rank_lines(lines: Sequence[Line], lower: bool) -> dict[str, list[float]]:
    """Rank the teachers in each setting, 1 for the best; ties share the mean of their ranks.

    Args:
        lines: lines of one table.
        lower: True if less is better.
    """
    ranks: dict[str, list[float]] = {}
    for line in lines:
        here = [other.score.mean * (1 if lower else -1) for other in lines if other.setting == line.setting]
        mine = line.score.mean * (1 if lower else -1)
        shared = (sum(other == mine for other in here) - 1) / 2
        ranks.setdefault(line.teacher, []).append(1 + sum(other < mine for other in here) + shared)
    return ranks


def compare_over_settings(lines: Sequence[Line], lower: bool) -> list[Standing]:
    """Return the standings of all teachers, best mean rank first."""
    best = {line.setting: line.score.mean for line in sorted(lines, key=lambda line: line.score.mean, reverse=lower)}
    level: dict[str, int] = {}
    for line in lines:
        first, score = best[line.setting], line.score
        inside = score.mean == first or score.low <= first <= score.high  # the bounds of one seed are NaN
        level[line.teacher] = level.get(line.teacher, 0) + inside
    found = [
        Standing(teacher, max(places), sum(places) / len(places), level[teacher], len(places))
        for teacher, places in rank_lines(lines, lower).items()
    ]
    return sorted(found, key=lambda standing: standing.mean)


def estimate_interquartile_mean(values: Sequence[float], *others: Sequence[float]) -> MeanEstimate:
    """Estimate the interquartile mean of all runs together. The interval is between the 2.5 and 97.5 % quantiles of
    `RESAMPLES` stratified bootstrap samples, in which the runs of each setting are resampled separately.

    Args:
        values, others: scores of the runs of each setting, one or more each, all finite.
    """
    strata = [np.asarray(group, dtype=np.float64) for group in (values, *others)]
    mean, n = float(interquartile_mean(np.concatenate(strata))), sum(map(len, strata))
    if n < 2:
        return MeanEstimate(mean, math.nan, math.nan, n)
    rng = np.random.default_rng(0)
    drawn = [group[rng.integers(len(group), size=(RESAMPLES, len(group)))] for group in strata]
    low, high = np.quantile(interquartile_mean(np.concatenate(drawn, axis=1)), (0.025, 0.975))
    return MeanEstimate(mean, float(low), float(high), n)


STATISTICS: dict[str, Callable[[Sequence[float]], MeanEstimate]] = {
    "mean": estimate_mean,
    "interquartile mean": estimate_interquartile_mean,
}


def summarise_records(
    records: Iterable[Mapping[str, Any]], statistic: str = "mean", columns: Sequence[str] = ()
) -> list[Line]:
    """Summarise one table's records into a line per setting and teacher, in the order of their first records.

    Args:
        statistic: key of `STATISTICS`.
        columns: measures to be summarised like the score.
    """
    groups: dict[tuple[str, str], dict[int, Mapping[str, Any]]] = {}
    for record in records:
        groups.setdefault((record["setting"], record["teacher"]), {})[record["seed"]] = record
    lines = []
    for (setting, teacher), group in groups.items():
        estimate, uniform = STATISTICS[statistic], groups.get((setting, UNIFORM), {})
        paired = [group[seed]["score"] - uniform[seed]["score"] for seed in sorted(group.keys() & uniform.keys())]
        rows = [group[seed] for seed in sorted(group)]
        found = {name: [row["measures"][name] for row in rows if name in row["measures"]] for name in columns}
        lines.append(
            Line(
                setting,
                teacher,
                estimate([row["score"] for row in rows]),
                estimate(paired) if paired and teacher != UNIFORM else None,
                _means(rows, "measures"),
                _means(rows, "calls"),
                {name: estimate(values) for name, values in found.items() if values},
            )
        )
    return lines


def summarise_settings(records: Iterable[Mapping[str, Any]], settings: Collection[str]) -> dict[str, MeanEstimate]:
    """Return teacher -> interquartile mean over the runs of several settings, for teachers that ran in most of them."""
    groups: dict[str, dict[str, list[float]]] = {}
    for record in records:
        if record["setting"] in settings:
            groups.setdefault(record["teacher"], {}).setdefault(record["setting"], []).append(record["score"])
    most = max(map(len, groups.values()), default=0)
    return {
        teacher: estimate_interquartile_mean(*group.values()) for teacher, group in groups.items() if len(group) == most
    }


def expand_records(records: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the records, each followed by one record for every further contestant in its "also" scores."""
    found: list[Mapping[str, Any]] = []
    for record in records:
        found.append(record)
        bare = {"curve": [[], []], "measures": {}, "heat": None, "calls": {}}
        found += [{**record, **bare, "teacher": name, "score": score} for name, score in record["also"].items()]
    return found


def _means(records: Iterable[Mapping[str, Any]], field: str) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for record in records:
        for name, value in record[field].items():
            if value is not None:
                found.setdefault(name, []).append(value)
    return {name: float(np.mean(values)) for name, values in found.items()}


def mean_curve(
    records: Sequence[Mapping[str, Any]], statistic: str = "mean"
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None:
    """Compute (x, mean, low, high) of the curves of several seeds, on the x of the first; None without curves."""
    curves = [record["curve"] for record in records if len(record["curve"][0]) > 1]
    if not curves:
        return None
    x = np.array(curves[0][0])
    estimate = STATISTICS[statistic]
    estimates = [estimate(column.tolist()) for column in np.array([np.interp(x, *curve) for curve in curves]).T]
    means = np.array([[e.mean, e.low, e.high] for e in estimates])
    return x, means[:, 0], means[:, 1], means[:, 2]
