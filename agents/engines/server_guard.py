"""Guard that runs a server and ends it with the process that started it: ``server_guard.py FOLDERS COMMAND...``.

The guard ends the server with all its processes when its standard input, a pipe from the starting process, is closed,
or when the starting process is gone (its children may still hold the pipe). When the server ends, the guard ends the
processes that the server left behind. If the starting process is gone, the guard also deletes FOLDERS, a list of paths
separated as in PATH. It imports only the standard library.
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
"""Seconds between asking the server to end and killing it."""
_LOOK = 1.0
"""Seconds between two checks that the starting process exists."""


def guard(folders: str, command: list[str]) -> None:
    """Run ``command``; when it or the starting process ends, kill this process group, this process included."""
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
