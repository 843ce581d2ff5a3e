"""Objective of a recipe: its resolved components, rewards and filters of groups, weights of batches, and the loss."""
