"""A filter of system calls, as a BPF program made by libseccomp where that library is there."""

from __future__ import annotations

import ctypes
import ctypes.util
import errno
import functools
import os
import socket
import tempfile

_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000
_EQUAL, _MASKED = 4, 7
# Nothing of this is needed by a program that computes; much of it has been a way out of a namespace, or speaks to what
# namespaces do not divide.
_REFUSED = """
    ptrace process_vm_readv process_vm_writev process_madvise kcmp pidfd_getfd
    mount umount2 pivot_root chroot move_mount open_tree fsopen fsconfig fsmount fspick mount_setattr
    unshare setns
    keyctl add_key request_key
    shmget shmat shmctl semget semop semctl semtimedop msgget msgsnd msgrcv msgctl mq_open mq_unlink
    bpf perf_event_open userfaultfd io_uring_setup io_uring_enter io_uring_register
    kexec_load kexec_file_load init_module finit_module delete_module
    open_by_handle_at name_to_handle_at quotactl swapon swapoff reboot syslog acct
    settimeofday clock_settime adjtimex clock_adjtime sethostname setdomainname
    fanotify_init lookup_dcookie vhangup iopl ioperm personality
"""
# For this one a wrapper exists that does without: clone3 hides its flags from a filter.
_UNKNOWN = ("clone3",)
_NAMESPACES = (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000, 0x00000080)
_FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6)


class _Compare(ctypes.Structure):
    _fields_ = [
        ("argument", ctypes.c_uint),
        ("operator", ctypes.c_int),
        ("first", ctypes.c_uint64),
        ("second", ctypes.c_uint64),
    ]


@functools.cache
def system_call_filter() -> bytes:
    """The program, 8 bytes an instruction; empty where libseccomp is missing."""
    name = ctypes.util.find_library("seccomp") or "libseccomp.so.2"
    try:
        library = ctypes.CDLL(name)
    except OSError:
        return b""
    library.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(_ALLOW)))
    try:
        for call in _REFUSED.split():
            _refuse(library, context, call, errno.EPERM)
        for call in _UNKNOWN:
            _refuse(library, context, call, errno.ENOSYS)
        for flag in _NAMESPACES:
            _refuse(library, context, "clone", errno.EPERM, _Compare(0, _MASKED, flag, flag))
        for family in range(64):
            if family not in _FAMILIES:
                _refuse(library, context, "socket", errno.EPERM, _Compare(0, _EQUAL, family, 0))
        with tempfile.TemporaryFile() as file:
            if library.seccomp_export_bpf(context, file.fileno()) != 0:
                return b""
            file.seek(0, os.SEEK_SET)
            return file.read()
    finally:
        library.seccomp_release(context)


def _refuse(library: ctypes.CDLL, context: ctypes.c_void_p, call: str, error: int, *when: _Compare) -> None:
    number = library.seccomp_syscall_resolve_name(call.encode())
    if number < 0:
        return  # not a call of this machine
    conditions = (_Compare * len(when))(*when)
    action = ctypes.c_uint32(_REFUSE | error)
    library.seccomp_rule_add_array(context, action, number, len(when), conditions)
