"""System calls of Linux that the standard library lacks, through ctypes."""

from __future__ import annotations

import ctypes
import os
import platform
import signal

NEW_USER, _NEW_PID = 0x10000000, 0x20000000
_SHARE_MEMORY = 0x100
_NOSUID_NODEV = 2 | 4

_libc = ctypes.CDLL(None, use_errno=True)
_syscall = _libc.syscall
_fork = ctypes.PyDLL(None, use_errno=True).fork
_SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}[platform.machine()]
_CAPSET = {"x86_64": 126, "aarch64": 91}[platform.machine()]
# For capset, version 3: this process, and no capability of any kind.
_CAPABILITY_HEADER, _NO_CAPABILITIES = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
_CAPBSET_DROP, _SET_SECCOMP, _SET_NO_NEW_PRIVS = 24, 22, 38
_FILTER = _DETACH = 2
_CAPABILITIES = 64
_STACK = 1 << 14
# __WALL: wait for children regardless of their exit signal.
_ANY_CHILD = 0x40000000


def _check_result(result: int, what: str) -> int:
    """Return the result of a system call, or raise its OSError."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def fork() -> int:
    """Fork as `os.fork` does, in two thirds of the time, for a process of one thread. Python's hooks are skipped, so
    the child goes on with the parent's random numbers."""
    return _check_result(_fork(), "fork")


def core() -> int:
    """Return the core on which this process runs."""
    return _check_result(_libc.sched_getcpu(), "sched_getcpu")


class _Turns(ctypes.Structure):
    _fields_ = [
        *[(name, ctypes.c_uint32) for name in ("size", "policy")],
        *[("flags", ctypes.c_uint64), ("nice", ctypes.c_int32), ("priority", ctypes.c_uint32)],
        *[(name, ctypes.c_uint64) for name in ("runtime", "deadline", "period")],
    ]


def take_short_turns(seconds: float) -> None:
    """Request time slices of this length from the scheduler; shorter slices are scheduled sooner, and 0 is the default.
    Kernels before 6.12 ignore the request."""
    if os.sched_getscheduler(0) == os.SCHED_OTHER:
        nice = os.getpriority(os.PRIO_PROCESS, 0)
        turns = _Turns(size=ctypes.sizeof(_Turns), policy=os.SCHED_OTHER, nice=nice, runtime=int(1e9 * seconds))
        _syscall(_SCHED_SETATTR, 0, ctypes.byref(turns), 0)


def unshare(namespaces: int) -> None:
    _check_result(_libc.unshare(namespaces), "unshare")


class Processes:
    """A PID namespace in which this process's new children start until `leave`.

    The first process of the namespace only waits and reaps. It shares this process's memory, so that it costs almost
    nothing, and has no signal handlers, so that no signal from inside reaches it. When it ends, the whole namespace
    ends.

    Args:
        home: a descriptor of this process's PID namespace.
    """

    _stack = ctypes.create_string_buffer(_STACK)
    _top = ctypes.c_void_p((ctypes.addressof(_stack) + _STACK) & ~15)
    _wait = ctypes.cast(_libc.pause, ctypes.c_void_p)

    def __init__(self, home: int):
        self.home = home
        unshare(_NEW_PID)
        # With SIGCHLD ignored, the kernel reaps ended children itself.
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        try:
            self.first = _check_result(
                _libc.clone(self._wait, self._top, _SHARE_MEMORY | signal.SIGCHLD, None), "clone"
            )
        finally:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)

    def leave(self) -> None:
        _check_result(_libc.setns(self.home, _NEW_PID), "setns")

    def end(self) -> None:
        """Kill every process of the namespace. This process must still wait for its own children."""
        os.kill(self.first, signal.SIGKILL)

    def wait(self) -> None:
        """Wait until no process of the namespace, and no other child of this process, is left."""
        while True:
            try:
                os.waitpid(-1, _ANY_CHILD)
            except ChildProcessError:
                return


def mount(kind: str, target: str, options: str) -> None:
    """Mount a file system that needs no device."""
    words = [word.encode() for word in (kind, target, kind, options)]
    _check_result(
        _libc.mount(words[0], words[1], words[2], ctypes.c_ulong(_NOSUID_NODEV), words[3]), f"mount {kind} on {target}"
    )


def unmount(target: str) -> None:
    """Unmount a file system at once, even while it is used."""
    _check_result(_libc.umount2(target.encode(), _DETACH), f"unmount {target}")


def forgo_privileges() -> None:
    """Drop all capabilities for every program that this process or its children start."""
    _check_result(_libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl(PR_SET_NO_NEW_PRIVS)")
    for capability in range(_CAPABILITIES):
        _libc.prctl(_CAPBSET_DROP, capability, 0, 0, 0)


def drop_privileges() -> None:
    """Give up every capability, for good."""
    _check_result(_syscall(_CAPSET, _CAPABILITY_HEADER, _NO_CAPABILITIES), "capset")


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]


def filter_calls(code: bytes) -> None:
    """Apply a BPF program to every further system call of this process and its children."""
    program = _Program(len(code) // 8, code)
    _check_result(_libc.prctl(_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0), "prctl(PR_SET_SECCOMP)")
