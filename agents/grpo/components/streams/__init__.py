"""Where streams that are trained beside the rollouts come from."""
