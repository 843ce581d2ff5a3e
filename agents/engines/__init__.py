"""Sampling engines: the protocol, the registry, and the engines: torch and vLLM in process, a vLLM server, scripts."""
