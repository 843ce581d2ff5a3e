"""Questions with a number for an answer."""

from __future__ import annotations

from . import arithmetic, linear_equation

__all__ = ["arithmetic", "linear_equation"]
