"""Connection to a Ray cluster: a local cluster, which the run starts on this machine and ends, or an existing one.

Ray's own output stays in its log files. A local cluster keeps its files in a temporary folder and ends with the run,
even if the run is killed.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import shutil
import signal
import tempfile
import threading
import weakref
from pathlib import Path
from typing import Any

from ...errors import InputError, needs_extra

LOCAL = "local"
"""Address that stands for a local cluster, started on this machine."""
_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_worker_niceness": "0",  # otherwise workers run at a lower priority than all other processes
}
"""Environment variables that Ray reads when it is imported; values that the user has set are kept."""
_FOLDER, _LOCK = "palaestra-", "ray.lock"
"""Prefix of local clusters' folders (short, as the length of socket paths is limited), and lock file in a folder."""
_LEAST_STORE = 200_000_000
"""Smallest shared memory for objects of a local cluster, in bytes."""
_lock = threading.Lock()
_users = 0
"""Number of open connections in this process, all to the same cluster."""
_end: weakref.finalize[..., Any] | None = None
"""Finalizer that ends the local cluster or the connection; None while not connected, or if other code called ray.init.
"""
_PROCESS = threading.main_thread()  # lives as long as the process, so that `_end` is called at its exit at the latest


def check_ray() -> None:
    """Raise MissingExtra if Ray is not installed."""
    import_ray()


def check_address(address: Any) -> None:
    """Raise InputError for an address that is no text or that a run cannot use ("ray://...")."""
    if not isinstance(address, str) or not address:
        raise InputError(f"an address of a Ray cluster is 'local', 'auto' or HOST:PORT, not {address!r}.")
    if address.startswith("ray://"):
        raise InputError(
            f"a run is a part of its Ray cluster and cannot reach it through {address}; start it on a machine of the "
            "cluster, with --ray auto or --ray HOST:PORT, the address of its head node."
        )


def import_ray() -> Any:
    """Import and return the package `ray`. Raises MissingExtra if it is not installed."""
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    with needs_extra("a run on several machines", "ray"):
        import ray
    return ray


class Cluster:
    """Open connection to a Ray cluster, which must be closed with `close`.

    Args:
        address: "local" starts a local cluster, "auto" joins the cluster that this machine belongs to, ``HOST:PORT``
            joins the cluster with this head node.
        cpus, gpus: number that a local cluster offers to workers, whatever the machine has.
        store: bytes of objects that the shared memory of a local cluster must hold.

    Raises:
        InputError: there is no such cluster, or it cannot be joined.
        MissingExtra: Ray is not installed.
    """

    def __init__(self, address: str, cpus: float = 1, gpus: float = 0, store: int = 0):
        check_address(address)
        self.ray, self.address = import_ray(), address
        self._open = True
        global _users
        with _lock:
            if not self.ray.is_initialized():
                _connect(self.ray, address, cpus, gpus, store)
            _users += 1

    def describe(self) -> str:
        """Return the cluster's name for use within a sentence."""
        return "the Ray cluster of this run" if self.address == LOCAL else f"the Ray cluster {self.address!r}"

    def close(self) -> None:
        """Close this connection. The last one of the process disconnects from the cluster, and ends a local one."""
        global _users
        if not self._open:
            return
        self._open = False
        with _lock:
            _users -= 1
            if not _users and _end is not None:
                _end()


def _connect(ray: Any, address: str, cpus: float, gpus: float, store: int) -> None:
    """Join the cluster at an address, or start a local one."""
    global _end
    folder, lock = _make_folder() if address == LOCAL else (None, -1)
    quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": logging.ERROR}
    own = {
        "num_cpus": max(1, math.ceil(cpus)),
        "num_gpus": math.ceil(gpus),
        "object_store_memory": max(_LEAST_STORE, store),
        "_temp_dir": folder,
    }
    ours = signal.getsignal(signal.SIGTERM)
    try:
        if folder is None:
            quiet.pop("include_dashboard")
            ray.init(address=address, **quiet)
        else:
            ray.init(address=LOCAL, **quiet, **own)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)
        reason = " ".join(str(error).split())
        raise InputError(
            f"the Ray cluster {address!r} cannot be joined ({reason}); see that `ray status --address={address}` "
            "answers on this machine, with the same versions of Python and Ray, or take --ray local."
            if folder is None
            else f"Ray cannot be started on this machine ({reason}); train without --ray."
        ) from error
    finally:
        if threading.current_thread() is threading.main_thread() and ours is not None:
            signal.signal(signal.SIGTERM, ours)  # Ray sets a handler that ends the process
    _end = weakref.finalize(_PROCESS, _disconnect, ray, folder, lock)


def _disconnect(ray: Any, folder: str | None, lock: int) -> None:
    ray.shutdown()
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _make_folder() -> tuple[str, int]:
    """Make a temporary folder, locked while this process lives. Delete the folders of killed runs."""
    import fcntl

    for earlier in Path(tempfile.gettempdir()).glob(f"{_FOLDER}*/{_LOCK}"):
        with contextlib.suppress(OSError), earlier.open("a") as held:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(earlier.parent, ignore_errors=True)
    folder = tempfile.mkdtemp(prefix=_FOLDER)
    lock = os.open(Path(folder, _LOCK), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return folder, lock
