"""Decoding, training and whole GRPO steps on one GPU, against floors, ``generate`` and TRL."""
