"""Replay: strategies that store episodes of earlier batches and mix them into the current one."""
