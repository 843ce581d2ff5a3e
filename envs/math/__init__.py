"""Questions with a number for an answer."""

from __future__ import annotations

from . import arithmetic

__all__ = ["arithmetic"]
