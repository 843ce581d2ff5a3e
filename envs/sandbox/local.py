"""The sandbox "local": a warm interpreter inside bubblewrap that forks each run into namespaces of its own.

Needs Linux with user namespaces, and the program ``bwrap``; neither root nor a container engine. A program sees the
interpreter, the system's libraries read-only, and an empty /tmp; no network, no other process, no file of anyone, and
an environment of a few words.
"""

from __future__ import annotations

import functools
import json
import os
import select
import shutil
import site
import socket
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from ...errors import InputError
from .protocol import Job, Limits, Result
from .seccomp import system_call_filter
from .wire import encoded, result

INSIDE = Path(__file__).with_name("inside")
START_SECONDS = 30.0
# What the supervisor may take beyond the limit of a run, seconds.
_GRACE = 10.0
_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/tmp",
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
}


class LocalSandbox:
    """One warm interpreter. Started at once.

    Raises:
        InputError: this machine cannot contain programs; the message says what is missing.
    """

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs, tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as filters:
            filters.write(system_call_filter())
            filters.seek(0)
            self._process = subprocess.Popen(
                command(theirs.fileno()),
                stdin=filters,
                stdout=errors,
                stderr=errors,
                cwd=INSIDE.parent,
                env=_ENVIRONMENT,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
            self._socket = ours
            theirs.close()
            if not self._readable(START_SECONDS) or ours.recv(1) != b"\n":
                self.close()
                errors.seek(0)
                said = errors.read(2_000).decode(errors="replace").strip().rpartition("\n")[2]
                raise InputError(
                    f"programs cannot be contained on this machine ({said or 'the sandbox does not start'}). The "
                    "backend 'local' needs Linux with user namespaces for everybody; 'docker' needs an engine; "
                    "'unsafe-subprocess' runs programs without any protection."
                )

    def run(self, job: Job, limits: Limits) -> Result:
        payload = os.memfd_create("job")
        try:
            data = memoryview(encoded(job))
            while data:
                data = data[os.write(payload, data) :]
            header = {name: getattr(limits, name) for name in Limits.__slots__}
            socket.send_fds(self._socket, [json.dumps(header).encode()], [payload])
            if not self._readable(limits.seconds + _GRACE):
                return self._lost()
            return self._received(len(job.calls))
        except (OSError, ValueError):
            return self._lost()
        finally:
            os.close(payload)

    @property
    def pid(self) -> int:
        return self._process.pid

    def close(self) -> None:
        """End the interpreter and all that runs in it."""
        self._socket.close()
        self._process.kill()
        self._process.wait()

    def _lost(self) -> Result:
        self.close()
        return Result(reason="lost", valid=False, stderr="The sandbox was lost.")

    def _readable(self, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(1000 * seconds))

    def _received(self, calls: int) -> Result:
        with self._socket.makefile("rb") as stream:
            report = json.loads(stream.readline())
            stdout, stderr, values = [stream.read(size) for size in report["sizes"]]
        return result(report, stdout, stderr, values, calls)


def command(descriptor: int) -> list[str]:
    """The command that starts the warm interpreter, which talks through ``descriptor``.

    Raises:
        InputError: bubblewrap is not installed.
    """
    if sys.platform != "linux" or shutil.which("bwrap") is None:
        raise InputError(
            "the sandbox 'local' needs Linux and the program bwrap (Debian's package bubblewrap); install it, or "
            "choose the backend 'docker'."
        )
    here = [sys.executable, "-s", "-S", "-m", "inside.launch"]
    return [*here, *_bubblewrap(), _interpreter(), "-s", "-B", "-m", "inside.zygote", str(descriptor)]


@functools.cache
def _bubblewrap() -> tuple[str, ...]:
    words = ["bwrap", "--userns", "NAMESPACE", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"]
    words += ["--unshare-cgroup-try", "--die-with-parent", "--new-session", "--clearenv"]
    for name, value in _ENVIRONMENT.items():
        words += ["--setenv", name, value]
    words += ["--ro-bind", "/usr", "/usr"]
    for folder in ("/bin", "/lib", "/lib64", "/lib32", "/sbin"):
        if os.path.islink(folder):
            words += ["--symlink", os.readlink(folder), folder]
        elif os.path.isdir(folder):
            words += ["--ro-bind", folder, folder]
    for file in ("/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime"):
        words += ["--ro-bind-try", file, file]
    for folder in reversed(Path(sys.base_prefix).parents):
        words += ["--perms", "0755", "--dir", str(folder)]
    words += ["--ro-bind", sys.base_prefix, sys.base_prefix]
    # Packages of the interpreter, this one perhaps among them, are no business of a program; numpy is.
    for folder in sorted({*site.getsitepackages([sys.base_prefix]), "/usr/local/lib/python3/dist-packages"}):
        if os.path.isdir(folder):
            words += ["--perms", "0755", "--tmpfs", folder]
    for name in ("numpy", "numpy.libs"):
        folder = os.path.join(sysconfig.get_paths()["platlib"], name)
        if os.path.isdir(folder):
            words += ["--ro-bind", folder, f"{_packages()}/{name}"]
    words += ["--proc", "/proc", "--dev", "/dev", "--dir", "/tmp", "--ro-bind", str(INSIDE), "/sandbox/inside"]
    words += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/sandbox"]
    for capability in ("SYS_ADMIN", "SETUID", "SETGID", "SETPCAP", "KILL", "SYS_RESOURCE"):
        words += ["--cap-add", f"CAP_{capability}"]
    return tuple(words)


def _packages() -> str:
    """Where the interpreter looks for packages, inside."""
    return next(folder for folder in site.getsitepackages([sys.base_prefix]) if os.path.isdir(folder))


def _interpreter() -> str:
    return os.path.realpath(sys.executable)
