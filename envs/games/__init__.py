"""Games of several turns in text."""

from __future__ import annotations

from . import guess_number

__all__ = ["guess_number"]
