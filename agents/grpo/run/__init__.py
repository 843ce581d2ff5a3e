"""The folder of a run: checkpoints, logs, trackers, saved models."""
