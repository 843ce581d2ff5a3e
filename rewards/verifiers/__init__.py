"""Verifiers: pure functions ``(answer, reference, **options) -> Verdict``, one kind a file, reached by `verify`."""

from __future__ import annotations

from . import (
    cells,
    choice,
    constraints,
    countdown,
    first_word,
    format_tags,
    grid,
    integer,
    interval,
    json_schema,
    mathematics,
    number,
    ordering,
    sequence,
    sql,
    structure,
    text,
    tool_calls,
    verdict_tag,
)
from .registry import VERIFIERS, Verifier, verify

__all__ = [
    "VERIFIERS",
    "Verifier",
    "cells",
    "choice",
    "constraints",
    "countdown",
    "first_word",
    "format_tags",
    "grid",
    "integer",
    "interval",
    "json_schema",
    "mathematics",
    "number",
    "ordering",
    "sequence",
    "sql",
    "structure",
    "text",
    "tool_calls",
    "verdict_tag",
    "verify",
]
