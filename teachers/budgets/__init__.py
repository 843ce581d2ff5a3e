"""Rollout budgets: how many episodes each chosen task gets."""

from __future__ import annotations

from .allocators import ALLOCATORS
from .budgeted import Budgeted

__all__ = ["ALLOCATORS", "Budgeted"]
