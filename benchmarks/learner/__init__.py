"""Time and memory of one GRPO step, compared with TRL."""
