"""Rewards that combine other rewards, by name, into one verdict.

    reward = Sum(
        correct=Verifiable(),
        brevity=Gate(Weighted(Overlong(), 0.2)),
        thinking=Scheduled(Trust(judge), {"kind": "linear", "start": 0.3, "end": 0.0}),
    )
    print(reward.tree())

As data, for a configuration file: ``make("sum", correct={"name": "verifiable"}, ...)``.
"""

from __future__ import annotations

from .composite import Composite, Single
from .conditions import Gate, Veto
from .shapes import Clip, GeometricMean, Saturate
from .siblings import Normalize, Trust
from .sums import Scheduled, Shaped, Sum, Weighted

__all__ = [
    "Clip",
    "Composite",
    "Gate",
    "GeometricMean",
    "Normalize",
    "Saturate",
    "Scheduled",
    "Shaped",
    "Single",
    "Sum",
    "Trust",
    "Veto",
    "Weighted",
]
