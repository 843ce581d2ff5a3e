"""Bandits and schedules over categories or the cells of a discretised space."""
