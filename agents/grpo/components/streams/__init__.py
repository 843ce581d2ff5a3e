"""Sources of streams: further episodes that are trained in the same step as the rollouts."""
