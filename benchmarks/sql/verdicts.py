"""Counts of a grader's right and mistaken verdicts."""

from __future__ import annotations

from dataclasses import dataclass, field

from .labels import LabelledQuery


@dataclass
class Verdicts:
    """Verdicts of one grader: counts of right and wrong queries, and of mistaken verdicts."""

    grader: str
    right: int = 0
    wrong: int = 0
    refused: int = 0
    """right queries that were found wrong"""
    accepted: int = 0
    """wrong queries that were found right"""
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)


def count_verdict(verdicts: Verdicts, query: LabelledQuery, success: bool, gold: str) -> None:
    """Count one verdict: ``success`` on a query or script made from ``gold``."""
    verdicts.right += query.right
    verdicts.wrong += not query.right
    if success != query.right:
        verdicts.accepted += success
        verdicts.refused += not success
        verdicts.failures.append(f"{query.made}: {query.text}\n  for {gold}")
