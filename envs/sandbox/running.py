"""The registry of backends, a pool of sandboxes for each, and the functions that run programs in them."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import PurePosixPath

from ...errors import InputError, MachineryError
from ...registry import Registry
from .pool import Pool
from .protocol import Call, Job, Limits, Result, Sandbox

BACKENDS: Registry[type[Sandbox]] = Registry("sandbox backend", group="palaestra.sandboxes")
BACKENDS.add("local", f"{__package__}.bubblewrap:BubblewrapSandbox")
BACKENDS.add("docker", f"{__package__}.docker:DockerSandbox")
BACKENDS.add("unsafe-subprocess", f"{__package__}.unsafe:UnsafeSubprocess")
_POOLS: dict[str, Pool] = {}
_MAKING = threading.Lock()
_PAGE, _STDIN_FILES = 4096, 1


def pool(backend: str = "local") -> Pool:
    """Return this process's pool of sandboxes of one backend, with at most one sandbox for each core.

    Raises:
        InputError: there is no such backend, or none on this system.
    """
    with _MAKING:
        if backend not in _POOLS:
            _POOLS[backend] = Pool(_find_backend(backend))
        return _POOLS[backend]


def _find_backend(name: str) -> type[Sandbox]:
    try:
        return BACKENDS[name]
    except ModuleNotFoundError as error:
        if error.name not in ("fcntl", "resource"):
            raise
        raise MachineryError(
            f"programs cannot be run on {sys.platform}, which has no {error.name!r}; use Linux, or on Windows "
            "its subsystem for Linux (WSL)."
        ) from None


def run(
    program: str,
    stdin: str = "",
    files: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    *,
    calls: Sequence[Call] = (),
    backend: str = "local",
    preload: Sequence[str] = (),
    packages: str | os.PathLike[str] = "",
) -> Result:
    """Run a Python program.

    Args:
        program: the program's text; runs as a script named program.py, in an empty folder.
        stdin: the standard input.
        files: text files in the program's folder, by name.
        limits: the limits of the run.
        calls: calls of the program's functions after it has run, each in a separate process with its own time limit.
        backend: a name in `BACKENDS`.
        preload: modules that are loaded before the program starts, such as "numpy"; see `Job`.
        packages: a folder of packages that the program may import; see `Job`.

    Raises:
        InputError: there is no such backend, this machine cannot provide it, a file is not within the program's folder,
            the files exceed the disk limit, or there is no such folder of packages.
        TypeError: an argument of a call is no plain data (None, bool, int, float, complex, str, bytes, list, tuple,
            set, frozenset, dict).
    """
    return submit(
        *(program, stdin, files, limits), calls=calls, backend=backend, preload=preload, packages=packages
    ).result()


def submit(
    program: str,
    stdin: str = "",
    files: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    *,
    calls: Sequence[Call] = (),
    backend: str = "local",
    preload: Sequence[str] = (),
    packages: str | os.PathLike[str] = "",
) -> Future[Result]:
    """Start a run as `run` does, and return the future of its result. ``await asyncio.wrap_future(submit(...))`` waits
    in a coroutine."""
    limits = limits or Limits()
    _check_files(files or {}, limits)
    if isinstance(preload, str) or not all(
        isinstance(name, str) and all(map(str.isidentifier, name.split("."))) for name in preload
    ):
        raise InputError(f"preload must be names of modules, such as ('numpy',), not {preload!r}.")
    job = Job(program, stdin, files or {}, tuple(calls), tuple(preload), _check_packages(packages, backend))
    return pool(backend).submit(job, limits)


def _check_packages(packages: str | os.PathLike[str], backend: str) -> str:
    path = os.fspath(packages)
    if path and not os.path.isabs(path):
        raise InputError(f"packages must be an absolute path of a folder, such as '/opt/site-packages', not {path!r}.")
    # The engine of "docker" may be on another machine.
    if path and backend != "docker" and not os.path.isdir(path):
        raise InputError(f"packages must be a folder, but there is none at {path!r}.")
    return path


def _check_files(files: Mapping[str, str], limits: Limits) -> None:
    for name in files:
        path = PurePosixPath(name)
        if not path.name or path.is_absolute() or ".." in path.parts or "\0" in name:
            raise InputError(f"files must have names of files beside the program, such as 'data/in.txt', not {name!r}.")
    places = {place for name in files for place in (PurePosixPath(name), *PurePosixPath(name).parents[:-1])}
    # Standard input counts as one more file, and the last page of each file may be partly empty.
    size = sum(len(text.encode("utf-8", "surrogatepass")) + _PAGE for text in files.values())
    if len(places) + _STDIN_FILES > limits.files or size + _STDIN_FILES * _PAGE > limits.disk_mb * 2**20:
        raise InputError(
            f"{len(files)} files of {size / 2**20:.1f} MiB have no room within the limits files={limits.files} and "
            f"disk_mb={limits.disk_mb:g}; raise these, or give less."
        )


def check_backend(backend: str, packages: str | os.PathLike[str] = "") -> None:
    """Check, when an environment is made, that its agent's programs can run.

    Raises:
        InputError: there is no such backend, or no such folder of packages.
        MachineryError: this machine cannot provide the backend.
        MissingExtra: the package that connects to it is not installed.
    """
    check = getattr(_find_backend(backend), "check", None)
    if check is not None:
        check()
    _check_packages(packages, backend)
