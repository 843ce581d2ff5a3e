"""Rollout budgets: the number of episodes of each chosen task."""

from __future__ import annotations

from .allocators import ALLOCATORS
from .budgeted import Budgeted

__all__ = ["ALLOCATORS", "Budgeted"]
