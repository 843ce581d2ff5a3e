"""Backends by name, and one pool of each."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import PurePosixPath

from ...errors import InputError
from ...registry import Registry
from .pool import Pool
from .protocol import Call, Job, Limits, Result, Sandbox

BACKENDS: Registry[type[Sandbox]] = Registry("sandbox backend", group="palaestra.sandboxes")
BACKENDS.add("local", f"{__package__}.local:LocalSandbox")
BACKENDS.add("docker", f"{__package__}.docker:DockerSandbox")
BACKENDS.add("unsafe-subprocess", f"{__package__}.unsafe:UnsafeSubprocess")
_POOLS: dict[str, Pool] = {}
_MAKING = threading.Lock()
_PAGE, _OWN_FILES = 4096, 2


def pool(backend: str = "local") -> Pool:
    """This process's pool of sandboxes of one backend, with a sandbox for each core.

    Raises:
        InputError: there is no such backend.
    """
    with _MAKING:
        if backend not in _POOLS:
            _POOLS[backend] = Pool(BACKENDS[backend])
        return _POOLS[backend]


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
        InputError: there is no such backend, this machine cannot provide it, or the files do not lie beside the
            program or have no room.
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
    limits = limits or Limits()
    _check_files(files or {}, limits)
    return pool(backend).submit(Job(program, stdin, files or {}, tuple(calls)), limits)


def _check_files(files: Mapping[str, str], limits: Limits) -> None:
    for name in files:
        path = PurePosixPath(name)
        if not path.name or path.is_absolute() or ".." in path.parts or "\0" in name:
            raise InputError(f"files must have names of files beside the program, such as 'data/in.txt', not {name!r}.")
    places = {place for name in files for place in (PurePosixPath(name), *PurePosixPath(name).parents[:-1])}
    # Besides these the program's own file, its standard input, and a page for what a file does not fill.
    size = sum(len(text.encode("utf-8", "surrogatepass")) + _PAGE for text in files.values())
    if len(places) + _OWN_FILES > limits.files or size + _OWN_FILES * _PAGE > limits.disk_mb * 2**20:
        raise InputError(
            f"{len(files)} files of {size / 2**20:.1f} MiB have no room within the limits files={limits.files} and "
            f"disk_mb={limits.disk_mb:g}; raise these, or give less."
        )
