"""Replay: what is remembered of earlier batches and mixed into this one."""
