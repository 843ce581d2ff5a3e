"""Sampling engines: the protocol, the registry, and the engines: torch, vLLM, workers of a Ray cluster, scripts."""
