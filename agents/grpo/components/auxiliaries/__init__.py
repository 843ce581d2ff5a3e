"""Models trained beside the policy: a critic, a process reward model."""
