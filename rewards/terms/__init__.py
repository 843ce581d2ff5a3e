"""Reward terms and complete rewards, one method a file. Importing this package registers them all."""

from __future__ import annotations

from . import outcome, overlong

__all__ = ["outcome", "overlong"]
