"""The verifier "math": a grammar of its own, structural comparison, exact arithmetic, and workers for the rest.

It is loaded when it is first used.
"""

from __future__ import annotations

from ..registry import VERIFIERS

VERIFIERS.add("math", f"{__name__}.verifier:verify_math")
