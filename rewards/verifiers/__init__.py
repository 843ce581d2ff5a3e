"""Verifiers: pure functions ``(answer, reference, **options) -> Verdict``, one kind a file, reached by `verify`."""

from __future__ import annotations

from . import countdown, integer, number, text, tool_calls
from .registry import VERIFIERS, Verifier, verify

__all__ = ["VERIFIERS", "Verifier", "countdown", "integer", "number", "text", "tool_calls", "verify"]
