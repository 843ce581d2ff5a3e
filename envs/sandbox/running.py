"""Backends by name, and one pool of each."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from concurrent.futures import Future

from ...registry import Registry
from .pool import Pool
from .protocol import Call, Job, Limits, Result, Sandbox

BACKENDS: Registry[type[Sandbox]] = Registry("sandbox backend", group="palaestra.sandboxes")
BACKENDS.add("local", f"{__package__}.local:LocalSandbox")
BACKENDS.add("unsafe-subprocess", f"{__package__}.unsafe:UnsafeSubprocess")


@functools.cache
def pool(backend: str = "local") -> Pool:
    """This process's pool of sandboxes of one backend, with a sandbox for each core.

    Raises:
        InputError: there is no such backend.
    """
    return Pool(BACKENDS[backend])


def run(
    program: str,
    stdin: str = "",
    files: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    *,
    calls: Sequence[Call] = (),
    backend: str = "local",
) -> Result:
    """Run a Python program.

    Args:
        program: its text; runs as a script named program.py, in an empty folder.
        stdin: its standard input.
        files: text files beside it, by name.
        limits: what it may use.
        calls: functions of it to call when it has run, each in a process of its own.
        backend: a name in `BACKENDS`.

    Raises:
        InputError: there is no such backend, or this machine cannot provide it.
        TypeError: an argument of a call is no plain data (None, bool, int, float, complex, str, bytes, list, tuple,
            set, frozenset, dict).
    """
    return submit(program, stdin, files, limits, calls=calls, backend=backend).result()


def submit(
    program: str,
    stdin: str = "",
    files: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    *,
    calls: Sequence[Call] = (),
    backend: str = "local",
) -> Future[Result]:
    """As `run`, without waiting; ``await asyncio.wrap_future(submit(...))`` waits in a coroutine."""
    return pool(backend).submit(Job(program, stdin, files or {}, tuple(calls)), limits or Limits())
