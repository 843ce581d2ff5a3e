"""Reward terms and complete rewards, one method a file. Importing this package registers them all."""

from __future__ import annotations

from . import (
    cosine_length,
    format,
    grpo_lambda,
    length,
    outcome,
    overlong,
    relative_length,
    shortest_correct,
    target_length,
    token_budget,
)

__all__ = [
    "cosine_length",
    "format",
    "grpo_lambda",
    "length",
    "outcome",
    "overlong",
    "relative_length",
    "shortest_correct",
    "target_length",
    "token_budget",
]
