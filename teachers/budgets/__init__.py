"""Rollout budgets: how many episodes each chosen task gets."""
