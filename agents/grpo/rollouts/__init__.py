"""Rollout strategies: they decide which episodes of a task are played; `episode_player` plays them."""
