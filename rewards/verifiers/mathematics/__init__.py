"""The verifier "math": a grammar of its own, structural comparison, exact arithmetic, and workers for the rest."""

from __future__ import annotations

from .verifier import POOL, verify_math

__all__ = ["POOL", "verify_math"]
