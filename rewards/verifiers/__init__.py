"""Verifiers: pure functions ``(answer, reference, **options) -> Verdict``, one kind per file, called through `verify`.

Their modules are imported when a verifier is first looked up.
"""

from __future__ import annotations

from .registry import VERIFIERS, Verifier, verify

__all__ = ["VERIFIERS", "Verifier", "verify"]
