"""Program of the worker processes of a `WorkerPool`: reads jobs from standard input, writes answers to standard output.

It is run by path as ``python -I worker.py`` and imports only the standard library before the first message, which holds
the path of the package, the function to serve and the limits. A separate thread waits on standard input, so that the
process ends with its parent, even during a computation.
"""

from __future__ import annotations

import importlib
import json
import os
import queue
import sys
import threading
from types import ModuleType
from typing import Any

MAX_LINE = 64 << 20
# CPU seconds beyond twice a job's deadline before the system kills the process: a last resort if the parent died while
# the interpreter was inside one long operation.
SPARE_CPU_SECONDS = 5


def encode(message: Any) -> bytes:
    """Return ``message`` as a line of JSON."""
    return json.dumps(message).encode("ascii") + b"\n"


def serve_jobs() -> None:
    """Answer jobs until standard input ends."""
    # Output that libraries print must not enter the stream of answers.
    out, nowhere = os.dup(1), os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(jobs,), daemon=True).start()
    try:
        function = _prepare(jobs.get())
    except Exception as error:
        _write(out, encode({"error": "start", "message": f"{type(error).__name__}: {error}"}))
        os._exit(1)
    _write(out, encode({"ready": True}))
    while True:
        job = jobs.get()
        _limit_cpu(job["deadline"])
        try:
            data = encode({"value": function(job["job"])})
        except MemoryError:
            _write(out, encode({"error": "memory", "message": ""}))
            os._exit(1)
        except Exception as error:
            data = encode({"error": "failed", "message": f"{type(error).__name__}: {str(error)[:200]}"})
        _write(out, data)


def _prepare(setup: dict[str, Any]) -> Any:
    # The parent's folders come last, so that nothing there hides the standard library or an installed package.
    sys.path.extend(path for path in setup["paths"] if path not in sys.path)
    module, _, attribute = setup["target"].partition(":")
    if module.partition(".")[0] == setup["package"]:
        _register_bare_packages(module, setup["root"])
    function = getattr(importlib.import_module(module), attribute)
    _limit(setup["memory"])
    return function


def _register_bare_packages(module: str, root: str) -> None:
    """Register the packages above ``module`` without running their ``__init__``, which a worker does not need. The top
    package is taken from the folder ``root``, where the parent found it, whether installed or not."""
    folder, name = root, ""
    for depth, part in enumerate(module.split(".")[:-1]):
        name = f"{name}.{part}" if name else part
        folder = os.path.join(folder, part) if depth else root
        package = ModuleType(name)
        package.__path__ = [folder]
        sys.modules[name] = package


def _limit(memory: int) -> None:
    import resource

    for kind, value in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
    ):
        _, hard = resource.getrlimit(kind)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))


def _limit_cpu(deadline: float) -> None:
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    used = sum(os.times()[:2])
    soft = int(used + 2 * deadline) + SPARE_CPU_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


def _read(jobs: queue.SimpleQueue[Any]) -> None:
    try:
        lines = open(0, "rb", buffering=1 << 16, closefd=False)  # noqa: SIM115 - it stays open
        while (line := lines.readline(MAX_LINE)).endswith(b"\n"):
            jobs.put(json.loads(line))
    finally:
        os._exit(1)


def _write(out: int, data: bytes) -> None:
    left = memoryview(data)
    try:
        while left:
            left = left[os.write(out, left) :]
    except OSError:
        os._exit(1)


if __name__ == "__main__":
    serve_jobs()
