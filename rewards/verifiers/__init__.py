"""Verifiers: pure functions ``(answer, reference, **options) -> Verdict``, one kind a file, reached by `verify`.

They are loaded when one is first looked up.
"""

from __future__ import annotations

from .registry import VERIFIERS, Verifier, verify

__all__ = ["VERIFIERS", "Verifier", "verify"]
