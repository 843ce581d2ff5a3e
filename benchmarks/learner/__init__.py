"""Time and memory of one GRPO step, against TRL."""
