"""Rollout budgets: how many episodes each chosen task gets."""

from __future__ import annotations

from .budgeted import Budgeted
from .registry import ALLOCATORS

__all__ = ["ALLOCATORS", "Budgeted"]
