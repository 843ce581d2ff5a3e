"""Reward terms and complete rewards, one method a file. Importing this package registers them all."""

from __future__ import annotations

from . import (
    co_rewarding,
    cosine_length,
    evol_rl,
    format,
    grpo_lambda,
    length,
    outcome,
    overlong,
    relative_length,
    rlccf,
    scope,
    shortest_correct,
    target_length,
    token_budget,
    vote,
)

__all__ = [
    "co_rewarding",
    "cosine_length",
    "evol_rl",
    "format",
    "grpo_lambda",
    "length",
    "outcome",
    "overlong",
    "relative_length",
    "rlccf",
    "scope",
    "shortest_correct",
    "target_length",
    "token_budget",
    "vote",
]
