"""Replay: strategies that remember episodes of earlier batches and mix them into this one."""
