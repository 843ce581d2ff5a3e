"""Files and records of a run: its folder, checkpoints, logs, trackers and evaluations."""
