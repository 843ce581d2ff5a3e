"""The sandbox "local": a warm interpreter inside bubblewrap that forks each run into new namespaces.

Needs Linux with user namespaces, and the program ``bwrap``; neither root nor a container engine. A program sees the
interpreter, the system's libraries read-only, and an empty /tmp; no network, no other process, no user's files, and an
environment of a few variables.

The kernel limits the memory of one process. The supervisor counts the memory of several processes together every
hundredth of a second, and more often near the limit. A run is usually killed within 20 % above the limit; if many
processes grow at once, or the supervisor gets no core in time, it can reach twice the limit. (In a container of
"docker" the kernel limits the memory of all processes together.) Kernel memory outside a program's processes (pipes,
sockets, shared memory) is refused or counted at its maximum. A control group limits everything together if this process
can make one (`control_group`).
"""

from __future__ import annotations

import fcntl
import functools
import importlib.util
import json
import os
import select
import shutil
import site
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from ...errors import MachineryError
from . import control_group
from .inside.frames import PACKAGES, PARTS
from .protocol import Call, Job, Limits, Result
from .seccomp import system_call_filter
from .wire import decode_result, encode_job

_NUMPY = "numpy"
# The last options of bubblewrap, when everything is mounted.
_LAST = ("--remount-ro", "/")
INSIDE = Path(__file__).with_name("inside")
START_SECONDS = 30.0
# Time of the supervisor beyond the limit of a run, seconds.
_GRACE = 10.0
# Maximum number of kept sandboxes with other modules or packages.
_KEPT = 2
# Time for the supervisor to end, seconds: it ends by itself, with all its processes, when its socket is closed.
_END_SECONDS = 2.0
# F_ADD_SEALS; F_SEAL_SEAL, _SHRINK, _GROW and _WRITE.
_ADD_SEALS, _SEALS = 1033, 0xF
_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/tmp",
    "USER": "sandbox",
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
}


class BubblewrapSandbox:
    """Backend of one warm interpreter, started at once. It ends, at the latest, with the thread that started it.

    Jobs with other modules or packages run in separate interpreters, started for the first such job; the last few are
    kept.

    Args:
        modules: the modules that are loaded before any program runs; missing modules are left out.
        packages: a folder of further packages, "" for none.

    Raises:
        MachineryError: this machine cannot contain programs; the message says what is missing.
    """

    @classmethod
    def check(cls) -> None:
        """Raise MachineryError where bubblewrap is absent, or cannot contain programs; the latter is tried once."""
        _start_once(_find_bubblewrap())

    def __init__(self, modules: Sequence[str] = (), packages: str = "") -> None:
        self.modules, self.packages = tuple(modules), packages
        self._others: dict[tuple[tuple[str, ...], str], BubblewrapSandbox] = {}
        self.group = control_group.make_group()
        self._socket, theirs = socket.socketpair()
        try:
            self._start(theirs)
        except BaseException:
            self._socket.close()
            if self.group is not None:
                self.group.remove()
            raise

    def _start(self, theirs: socket.socket) -> None:
        with theirs, tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as filters, ExitStack() as stack:
            filters.write(system_call_filter())
            filters.seek(0)
            entrance, bounds = "", []
            if self.group is not None:
                entrance, bounds = str(self.group.entrance), self.group.descriptors()
                for descriptor in bounds:
                    stack.callback(os.close, descriptor)
            self._process = subprocess.Popen(
                [*command(theirs.fileno(), self.packages, entrance), ",".join(map(str, bounds)), *self.modules],
                stdin=filters,
                stdout=errors,
                stderr=errors,
                cwd=INSIDE.parent,
                env=_ENVIRONMENT,
                pass_fds=[theirs.fileno(), *bounds],
                start_new_session=True,
            )
            theirs.close()
            if not self._wait_readable(START_SECONDS) or self._socket.recv(1) != b"\n":
                self.close()
                errors.seek(0)
                last = errors.read(2_000).decode(errors="replace").strip().rpartition("\n")[2]
                raise MachineryError(
                    f"programs cannot be contained on this machine ({last or 'the sandbox does not start'}). The "
                    "backend 'local' needs Linux with user namespaces for everybody; 'docker' needs an engine; "
                    "'unsafe-subprocess' runs programs without any protection."
                )

    def run(self, job: Job, limits: Limits) -> Result:
        if (job.preload, job.packages) != (self.modules, self.packages):
            return self._other(job.preload, job.packages).run(job, limits)
        parts = {name: data for name, data in encode_job(job).items() if data or name == PARTS[0]}
        given: list[int] = []
        try:
            given.extend(map(_write_sealed, parts.values()))
            header = {"limits": {name: getattr(limits, name) for name in Limits.__slots__}, "parts": [*parts]}
            socket.send_fds(self._socket, [json.dumps(header).encode()], given)
            if not self._wait_readable(limits.seconds + _GRACE):
                return self._close_lost()
            return self._receive(job.calls)
        except (OSError, ValueError):
            return self._close_lost()
        finally:
            for descriptor in given:
                os.close(descriptor)

    def _other(self, modules: tuple[str, ...], packages: str) -> BubblewrapSandbox:
        """Return the sandbox with these modules and packages, and mark it as most recently used."""
        wanted = modules, packages
        other = self._others.pop(wanted, None)
        if other is None or other.lost:
            other = BubblewrapSandbox(modules, packages)
        self._others[wanted] = other
        if len(self._others) > _KEPT:
            self._others.pop(next(iter(self._others))).close()
        return other

    @property
    def lost(self) -> bool:
        """True if the interpreter has ended or was closed."""
        return self._socket.fileno() < 0

    @property
    def pid(self) -> int:
        return self._process.pid

    def close(self) -> None:
        """End the interpreter and all that runs in it."""
        while self._others:
            self._others.popitem()[1].close()
        self._socket.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self.group is not None:
            self.group.remove()

    def _close_lost(self) -> Result:
        self.close()
        return Result(reason="lost", valid=False, stderr="The sandbox was lost.")

    def _wait_readable(self, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(1000 * seconds))

    def _receive(self, calls: Sequence[Call]) -> Result:
        with self._socket.makefile("rb") as stream:
            report = json.loads(stream.readline())
            stdout, stderr, values = [stream.read(size) for size in report["sizes"]]
        return decode_result(report, stdout, stderr, values, calls)


def _write_sealed(data: bytes) -> int:
    """Write ``data`` to a file in memory that nobody can change, and return its descriptor, positioned at its start."""
    descriptor = os.memfd_create("given", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    fcntl.fcntl(descriptor, _ADD_SEALS, _SEALS)
    return descriptor


def command(descriptor: int, packages: str = "", entrance: str = "") -> list[str]:
    """Return the command that starts the warm interpreter.

    Args:
        descriptor: the socket through which the interpreter communicates.
        packages: a folder of further packages, "" for none.
        entrance: the file through which a process enters the control group, "" without a group.

    Raises:
        MachineryError: bubblewrap is not installed.
    """
    here = [sys.executable, "-s", "-S", "-m", "inside.launch", entrance]
    more = ["--ro-bind", packages, PACKAGES, "--setenv", "PYTHONPATH", PACKAGES] if packages else []
    inside = [os.path.realpath(sys.executable), "-s", "-B", "-m", "inside.zygote", str(descriptor)]
    return [*here, *_bubblewrap(_find_bubblewrap()), *more, *_LAST, *inside]


def _find_bubblewrap() -> str:
    bwrap = shutil.which("bwrap")
    if bwrap is None or sys.platform != "linux":
        raise MachineryError(
            "the sandbox 'local' needs Linux and the program bwrap (Debian's package bubblewrap); install it, or "
            "choose the backend 'docker'.",
            install="apt-get install bubblewrap" if sys.platform == "linux" else "",
        )
    return bwrap


@functools.cache
def _start_once(bwrap: str) -> None:
    BubblewrapSandbox().close()


@functools.cache
def _bubblewrap(bwrap: str) -> tuple[str, ...]:
    words = [bwrap, "--userns", "NAMESPACE", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"]
    words += ["--unshare-cgroup-try", "--hostname", "sandbox", "--die-with-parent", "--new-session", "--clearenv"]
    for name, value in _ENVIRONMENT.items():
        words += ["--setenv", name, value]
    words += ["--ro-bind", "/usr", "/usr"]
    for folder in ("/bin", "/lib", "/lib64", "/lib32", "/sbin"):
        if os.path.islink(folder):
            words += ["--symlink", os.readlink(folder), folder]
        elif os.path.isdir(folder):
            words += ["--ro-bind", folder, folder]
    words += ["--perms", "0755", "--dir", "/etc"]
    for file in ("/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime"):
        words += ["--ro-bind-try", file, file]
    for folder in reversed(Path(sys.base_prefix).parents):
        words += ["--perms", "0755", "--dir", str(folder)]
    words += ["--ro-bind", sys.base_prefix, sys.base_prefix]
    # The interpreter's packages, perhaps Palaestra among them, are hidden from programs, except numpy.
    hidden = [
        folder
        for folder in sorted({*site.getsitepackages([sys.base_prefix]), "/usr/local/lib/python3/dist-packages"})
        if os.path.isdir(folder)
    ]
    for folder in hidden:
        words += ["--perms", "0755", "--tmpfs", folder]
    words += _numpy()
    words += ["--proc", "/proc", "--perms", "0755", "--tmpfs", "/dev", "--dir", "/dev/shm"]
    for device in ("null", "random", "urandom"):
        words += ["--dev-bind", f"/dev/{device}", f"/dev/{device}"]
    words += ["--symlink", "/dev/shm/.stdin", "/dev/stdin"]
    words += ["--dir", "/tmp", "--ro-bind", str(INSIDE), "/sandbox/inside"]
    for folder in (*hidden, "/dev"):
        words += ["--remount-ro", folder]
    words += ["--chdir", "/sandbox"]
    for capability in ("SYS_ADMIN", "SETUID", "SETGID", "SETPCAP", "KILL", "SYS_RESOURCE", "SYS_PTRACE"):
        words += ["--cap-add", f"CAP_{capability}"]
    return tuple(words)


def _numpy() -> list[str]:
    """Return the options that mount numpy and its libraries for the interpreter inside."""
    found = importlib.util.find_spec(_NUMPY)
    inside = [folder for folder in site.getsitepackages([sys.base_prefix]) if os.path.isdir(folder)]
    if found is None or not found.submodule_search_locations or not inside:
        return []
    package = Path(found.submodule_search_locations[0])
    folders = [folder for folder in (package, package.with_name("numpy.libs")) if folder.is_dir()]
    return [word for folder in folders for word in ("--ro-bind", str(folder), f"{inside[0]}/{folder.name}")]
