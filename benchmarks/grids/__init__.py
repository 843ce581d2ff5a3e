"""Gridworlds: their speed beside MiniGrid's, and what bonuses and learners do for students of them."""
