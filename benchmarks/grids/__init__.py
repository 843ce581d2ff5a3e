"""Benchmarks of gridworlds: speed compared with MiniGrid's, and learning with different bonuses and learners."""
