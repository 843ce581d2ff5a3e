"""Students to test and compare teachers on."""

from __future__ import annotations

from .hypercube import HypercubeStudent

__all__ = ["HypercubeStudent"]
