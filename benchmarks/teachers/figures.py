"""Formatting of the figures in the tables of ``palaestra bench teachers``, on the terminal and in the report."""

from __future__ import annotations

import math
from typing import Literal

from ...estimates import MeanEstimate
from ...teachers.benchmarks.statistics import Line
from ...teachers.benchmarks.table import Table

# The spread of two or three seeds is mostly chance, and so is the width of an interval computed from it.
SEEDS_TO_JUDGE = 5


def format_score(value: float, table: Table, precision_of: float | None = None) -> str:
    """Format a score in the table's unit, with decimals that suit ``precision_of`` (default: the score itself)."""
    if not math.isfinite(value):
        return "–"
    if table.percent:
        return f"{100 * value:.1f}"
    size = abs(value if precision_of is None else precision_of)
    return f"{value:,.{0 if size >= 100 else 1 if size >= 10 else 2}f}"


def format_estimate(value: MeanEstimate, table: Table) -> str:
    """Format a mean and half of its 95 % interval, ``34.3 ± 1.8``; or an interquartile mean, whose interval may be
    asymmetric, and both ends of the interval, ``5.3 [4.0, 6.1]``."""
    mean, whole = format_score(value.mean, table), math.isfinite(value.low)
    if table.statistic == "mean":
        half = (value.high - value.low) / 2
        return f"{mean} ± {format_score(half, table, value.mean)}" if whole else mean
    low, high = (format_score(bound, table, value.mean) for bound in (value.low, value.high))
    return f"{mean} [{low}, {high}]" if whole else mean


def compare_to_uniform(line: Line, table: Table) -> Literal["better", "worse", ""]:
    """Return "better" or "worse" if the 95 % interval of the paired difference to uniform practice excludes zero.

    Return "" if the interval contains zero, or if there are fewer than `SEEDS_TO_JUDGE` seeds.
    """
    gain = line.gain
    if gain is None or gain.n < SEEDS_TO_JUDGE or not math.isfinite(gain.low) or gain.low <= 0 <= gain.high:
        return ""
    return "better" if (gain.low > 0) != table.lower else "worse"
