"""Sampling engines: the protocol, the registry, and the engines: torch, vLLM, scripts."""
