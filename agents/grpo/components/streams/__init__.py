"""Sources of the streams that are trained in addition to the rollouts."""
