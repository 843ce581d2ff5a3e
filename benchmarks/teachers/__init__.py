"""Teachers compared on simulated students and on a small language model."""
