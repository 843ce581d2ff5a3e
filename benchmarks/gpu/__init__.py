"""Decoding, training and whole GRPO steps on one GPU, compared with floors, ``generate`` and TRL."""
