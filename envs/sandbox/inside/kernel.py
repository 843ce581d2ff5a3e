"""The few calls of Linux that the standard library lacks, through ctypes. Plain files like this one run inside the
sandbox without the package."""

from __future__ import annotations

import ctypes
import os
import platform
import signal

NEW_USER, NEW_PID, NEW_IPC = 0x10000000, 0x20000000, 0x08000000
_NOSUID_NODEV = 2 | 4

_libc = ctypes.CDLL(None, use_errno=True)
_CLONE, _CAPSET = {"x86_64": (56, 126), "aarch64": (220, 91)}[platform.machine()]
_CAPBSET_DROP, _SET_SECCOMP, _SET_NO_NEW_PRIVS = 24, 22, 38
_FILTER = _DETACH = 2


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def fork_into(namespaces: int) -> int:
    """``os.fork`` whose child is alone in new namespaces."""
    ctypes.pythonapi.PyOS_BeforeFork()
    pid = _libc.syscall(_CLONE, namespaces | signal.SIGCHLD, None, None, None, None)
    if pid == 0:
        ctypes.pythonapi.PyOS_AfterFork_Child()
        return 0
    ctypes.pythonapi.PyOS_AfterFork_Parent()
    return _checked(pid, "clone")


def unshare(namespaces: int) -> None:
    _checked(_libc.unshare(namespaces), "unshare")


def mount(kind: str, target: str, options: str) -> None:
    """Mount a file system that needs no device."""
    words = [word.encode() for word in (kind, target, kind, options)]
    _checked(
        _libc.mount(words[0], words[1], words[2], ctypes.c_ulong(_NOSUID_NODEV), words[3]), f"mount {kind} on {target}"
    )


def unmount(target: str) -> None:
    """Take a file system away at once, whoever still uses it."""
    _checked(_libc.umount2(target.encode(), _DETACH), f"unmount {target}")


def drop_privileges() -> None:
    """Give up every capability, for good."""
    _checked(_libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl(PR_SET_NO_NEW_PRIVS)")
    for capability in range(64):
        _libc.prctl(_CAPBSET_DROP, capability, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    nothing = (ctypes.c_uint32 * 6)()
    _checked(_libc.syscall(_CAPSET, header, nothing), "capset")


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]


def filter_calls(code: bytes) -> None:
    """Apply a BPF program to every further system call of this process and its children."""
    program = _Program(len(code) // 8, code)
    _checked(_libc.prctl(_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0), "prctl(PR_SET_SECCOMP)")
