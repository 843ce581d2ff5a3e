"""Sampling engines: the protocol, the in-process torch engine, and a scripted one."""
