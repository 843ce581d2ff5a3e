"""The backends that contain programs, and whether this machine has them."""

from __future__ import annotations

import functools

import pytest
from palaestra.envs.sandbox import BACKENDS, Sandbox
from palaestra.errors import InputError, MissingExtra

from .engine import engine

SAFE = ("local", "docker")


@functools.cache
def missing(backend: str) -> str:
    """Why this machine does not have a backend; "" where it does."""
    if backend == "docker" and (reason := engine()):
        return reason
    try:
        BACKENDS[backend]().close()
    except (InputError, MissingExtra) as error:
        return f"the backend {backend!r} is missing (Debian's package bubblewrap has bwrap): {error}"
    return ""


def started(backend: str) -> Sandbox:
    """A sandbox of one worker, or a skip: with CI=true that is a failure."""
    if missing(backend):
        pytest.skip(missing(backend))
    return BACKENDS[backend]()
