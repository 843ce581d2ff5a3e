"""Sampling engines: protocol, registry, and the engines torch, vLLM, vLLM server, Ray workers, and scripted answers."""
