"""Run a server that ends with the process that started it, however that ends: ``server_guard.py FOLDERS COMMAND...``.

The guard ends the server with all its processes when its standard input, a pipe from the starting process, is closed,
or when the starting process is gone (its children may still hold the pipe). When the server ends, the guard ends the
processes that the server left behind. If the starting process is gone, the guard also deletes FOLDERS, whose paths are
separated as in PATH. It imports the standard library alone.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading

_PATIENCE = 3.0
"""Seconds that a server has to end by itself."""
_LOOK = 1.0
"""Seconds between two looks for the starting process."""


def guard(folders: str, command: list[str]) -> None:
    """Run ``command`` and kill this process group, the caller included, when it or the starting process ends."""
    parent = os.getppid()
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    ended = threading.Event()

    def wait_for_parent() -> None:
        with contextlib.suppress(OSError):
            while os.read(0, 4096):
                pass
        ended.set()

    def wait_for_server() -> None:
        server.wait()
        ended.set()

    for wait in (wait_for_parent, wait_for_server):
        threading.Thread(target=wait, daemon=True).start()
    while not ended.wait(_LOOK) and os.getppid() == parent:
        pass
    server.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        server.wait(_PATIENCE)
    if os.getppid() != parent:
        for folder in filter(None, folders.split(os.pathsep)):
            shutil.rmtree(folder, ignore_errors=True)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    guard(sys.argv[1], sys.argv[2:])
