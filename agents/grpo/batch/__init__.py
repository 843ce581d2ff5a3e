"""Data that travels from rollouts to the loss: trajectories, batches of tokens, packed rows and scores."""
