"""Masks decide which sampled tokens are trained. What is masked here leaves the denominators too; advantage zero does
not.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from ...registry import Registry
from .batch import Batch

Mask = Callable[..., Tensor]
"""``(batch, **params) -> bool [N]``, True where a token is trained"""

MASKS: Registry[Mask] = Registry("mask")


@MASKS.register("untruncated")
def untruncated(batch: Batch) -> Tensor:
    """Leave out episodes that a limit ended (DAPO's overlong filtering, arXiv 2503.14476, section 3.4)."""
    return ~batch.per_token(batch.truncated)
