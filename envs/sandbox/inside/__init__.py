"""Modules that run inside the sandbox, without the rest of Palaestra: they import only each other."""
