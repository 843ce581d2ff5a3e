"""Sampling engines: the protocol, the registry, and the engines: torch, vLLM in process, a vLLM server, scripts."""
