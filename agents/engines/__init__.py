"""Sampling engines: the protocol, the registry, and the engines: torch, vLLM, a server of it, Ray workers, scripts."""
