"""The verifier "math": a grammar, structural comparison, exact arithmetic, and worker processes for symbolic proofs.

Its modules are imported on first use.
"""

from __future__ import annotations

from ..registry import VERIFIERS

VERIFIERS.add("math", f"{__name__}.verifier:verify_math")
