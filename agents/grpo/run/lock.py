"""Lock of a run's folder: while a run is in progress, no other writes there.

It is a lock of the operating system (``flock``) on the file ``run.lock``, which names the holder. The system releases
it when the process ends for whatever reason, so a remaining file locks nothing. On systems and file systems without
such locks, runs are not locked.
"""

from __future__ import annotations

import datetime
import os
import socket
from pathlib import Path

from ....errors import InputError

LOCK = "run.lock"
_held: set[int] = set()
"""File descriptors of the locks that this process holds."""


class RunLock:
    """Lock that is held until `release`, or until the object is garbage-collected.

    Args:
        folder: folder of the run; must exist.

    Raises:
        InputError: another run holds the lock, in this process or another.
    """

    def __init__(self, folder: Path):
        self._path = folder / LOCK
        self._descriptor = _acquire(self._path)
        _held.add(self._descriptor)
        since = datetime.datetime.now().isoformat(" ", "seconds")
        os.ftruncate(self._descriptor, 0)
        os.write(self._descriptor, f"process {os.getpid()} on {socket.gethostname()}, since {since}\n".encode())

    def release(self) -> None:
        """Release the lock."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor in _held:
            _held.remove(descriptor)
            self._path.unlink(missing_ok=True)
            os.close(descriptor)

    def __del__(self) -> None:
        if getattr(self, "_descriptor", -1) >= 0:
            self.release()


def check_unlocked(folder: Path) -> None:
    """Raise InputError if a run is in progress in the folder."""
    if (folder / LOCK).is_file():
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CLOEXEC)
        try:
            _lock(descriptor, folder / LOCK)
        finally:
            os.close(descriptor)


def _acquire(path: Path) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            _lock(descriptor, path)
            # The previous holder may have removed the file between opening and locking.
            if path.exists() and os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _lock(descriptor: int, path: Path) -> None:
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(descriptor, 200, 0).decode(errors="replace").strip() or "another process"
        raise InputError(
            f"a run is under way in {str(path.parent)!r} ({holder}); wait for its end or stop it before another begins "
            "there."
        ) from None
    except OSError:
        return


def _leave_to_parent() -> None:
    """Close the locks in a forked child, which would otherwise hold them as long as it lives."""
    for descriptor in _held:
        os.close(descriptor)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)
