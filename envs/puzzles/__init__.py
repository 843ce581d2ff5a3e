"""Puzzles with one answer that can be checked."""

from __future__ import annotations

from . import countdown

__all__ = ["countdown"]
