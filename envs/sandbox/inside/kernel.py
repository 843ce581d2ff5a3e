"""The few calls of Linux that the standard library lacks, through ctypes. Plain files like this one run inside the
sandbox without the package."""

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
# Of version 3: this process, and no capability of any kind.
_CAPABILITY_HEADER, _NO_CAPABILITIES = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
_CAPBSET_DROP, _SET_SECCOMP, _SET_NO_NEW_PRIVS = 24, 22, 38
_FILTER = _DETACH = 2
_CAPABILITIES = 64
_STACK = 1 << 14
# __WALL: whatever signal tells of its end.
_ANY_CHILD = 0x40000000


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def fork() -> int:
    """As `os.fork`, in two thirds of the time, for a process of one thread: nothing is made afresh in the child, which
    so goes on with the parent's random numbers."""
    return _checked(_fork(), "fork")


def core() -> int:
    """The core on which this process runs."""
    return _checked(_libc.sched_getcpu(), "sched_getcpu")


class _Turns(ctypes.Structure):
    _fields_ = [
        *[(name, ctypes.c_uint32) for name in ("size", "policy")],
        *[("flags", ctypes.c_uint64), ("nice", ctypes.c_int32), ("priority", ctypes.c_uint32)],
        *[(name, ctypes.c_uint64) for name in ("runtime", "deadline", "period")],
    ]


def take_short_turns(seconds: float) -> None:
    """Ask for turns of so long on a core, which come the sooner the shorter they are; 0 for what is usual. Kernels
    before 6.12 know no such wish."""
    if os.sched_getscheduler(0) == os.SCHED_OTHER:
        nice = os.getpriority(os.PRIO_PROCESS, 0)
        turns = _Turns(size=ctypes.sizeof(_Turns), policy=os.SCHED_OTHER, nice=nice, runtime=int(1e9 * seconds))
        _syscall(_SCHED_SETATTR, 0, ctypes.byref(turns), 0)


def unshare(namespaces: int) -> None:
    _checked(_libc.unshare(namespaces), "unshare")


class Processes:
    """A namespace of processes, into which this one's further children are born until `leave`.

    Its first process only waits, and reaps. It shares this one's memory, so that it costs next to nothing, and has no
    handler of any signal, so that none from inside reaches it. When it ends, all of the namespace does.

    Args:
        home: a descriptor of this process's own namespace.
    """

    _stack = ctypes.create_string_buffer(_STACK)
    _top = ctypes.c_void_p((ctypes.addressof(_stack) + _STACK) & ~15)
    _wait = ctypes.cast(_libc.pause, ctypes.c_void_p)

    def __init__(self, home: int):
        self.home = home
        unshare(_NEW_PID)
        # Whoever ignores this signal has no dead children to wait for.
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        try:
            self.first = _checked(_libc.clone(self._wait, self._top, _SHARE_MEMORY | signal.SIGCHLD, None), "clone")
        finally:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)

    def leave(self) -> None:
        _checked(_libc.setns(self.home, _NEW_PID), "setns")

    def end(self) -> None:
        """End every process of the namespace. The children of this process are for it to wait for."""
        os.kill(self.first, signal.SIGKILL)

    def wait(self) -> None:
        """Wait until nothing of the namespace, nor any other child of this process, is left."""
        while True:
            try:
                os.waitpid(-1, _ANY_CHILD)
            except ChildProcessError:
                return


def mount(kind: str, target: str, options: str) -> None:
    """Mount a file system that needs no device."""
    words = [word.encode() for word in (kind, target, kind, options)]
    _checked(
        _libc.mount(words[0], words[1], words[2], ctypes.c_ulong(_NOSUID_NODEV), words[3]), f"mount {kind} on {target}"
    )


def unmount(target: str) -> None:
    """Take a file system away at once, whoever still uses it."""
    _checked(_libc.umount2(target.encode(), _DETACH), f"unmount {target}")


def forgo_privileges() -> None:
    """Let no program that is started by this process, or by its children, have a capability."""
    _checked(_libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl(PR_SET_NO_NEW_PRIVS)")
    for capability in range(_CAPABILITIES):
        _libc.prctl(_CAPBSET_DROP, capability, 0, 0, 0)


def drop_privileges() -> None:
    """Give up every capability, for good."""
    _checked(_syscall(_CAPSET, _CAPABILITY_HEADER, _NO_CAPABILITIES), "capset")


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]


def filter_calls(code: bytes) -> None:
    """Apply a BPF program to every further system call of this process and its children."""
    program = _Program(len(code) // 8, code)
    _checked(_libc.prctl(_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0), "prctl(PR_SET_SECCOMP)")
