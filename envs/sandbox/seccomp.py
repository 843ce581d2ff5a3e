"""A system-call filter, as a classic BPF program, written without a library.

The filter refuses calls that pure computation never needs. Many of these calls have been ways out of a namespace, reach
parts of the kernel that namespaces do not isolate, or hold memory that belongs to no process and so escapes the limits.
"""

from __future__ import annotations

import errno
import functools
import platform
import socket
import struct

from ...errors import InputError

# The supported machines, and the kernel's numbers for them (linux/audit.h).
_MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# Calls with a greater number are newer than this table, or of another calling convention (x32).
_NEWEST = 452
# Calls that are always refused: name, number on x86_64, number on aarch64 ("-": there is none).
_REFUSED = """
    ptrace 101 117                    process_vm_readv 310 270          process_vm_writev 311 271
    process_madvise 440 440           process_mrelease 448 448          kcmp 312 272
    pidfd_getfd 438 438               mount 165 40                      umount2 166 39
    pivot_root 155 41                 chroot 161 51                     move_mount 429 429
    open_tree 428 428                 fsopen 430 430                    fsconfig 431 431
    fsmount 432 432                   fspick 433 433                    mount_setattr 442 442
    unshare 272 97                    setns 308 268                     keyctl 250 219
    add_key 248 217                   request_key 249 218               shmget 29 194
    shmat 30 196                      shmctl 31 195                     shmdt 67 197
    semget 64 190                     semop 65 193                      semctl 66 191
    semtimedop 220 192                msgget 68 186                     msgsnd 69 189
    msgrcv 70 188                     msgctl 71 187                     mq_open 240 180
    mq_unlink 241 181                 memfd_create 319 279              memfd_secret 447 447
    inotify_init 253 -                inotify_init1 294 26              fanotify_init 300 262
    bpf 321 280                       perf_event_open 298 241           userfaultfd 323 282
    io_uring_setup 425 425            io_uring_enter 426 426            io_uring_register 427 427
    io_setup 206 0                    kexec_load 246 104                kexec_file_load 320 294
    init_module 175 105               finit_module 313 273              delete_module 176 106
    create_module 174 -               open_by_handle_at 304 265         name_to_handle_at 303 264
    quotactl 179 60                   quotactl_fd 443 443               swapon 167 224
    swapoff 168 225                   reboot 169 142                    syslog 103 116
    acct 163 89                       settimeofday 164 170              clock_settime 227 112
    adjtimex 159 171                  clock_adjtime 305 266             sethostname 170 161
    setdomainname 171 162             lookup_dcookie 212 18             vhangup 153 58
    iopl 172 -                        ioperm 173 -                      modify_ldt 154 -
    personality 135 92                uselib 134 -                      nfsservctl 180 42
    move_pages 279 239                migrate_pages 256 238             mbind 237 235
    set_mempolicy 238 237             set_mempolicy_home_node 450 450   sched_setaffinity 203 122
    sched_setscheduler 144 119        sched_setparam 142 118            sched_setattr 314 274
    vmsplice 278 75
"""
# Calls that are refused depending on their arguments: numbers on x86_64 and aarch64.
_CLONE, _CLONE3, _SOCKET, _SOCKETPAIR = (56, 220), (435, 435), (41, 198), (53, 199)
_MMAP, _PRLIMIT, _SETRLIMIT, _SETSOCKOPT = (9, 222), (302, 261), (160, 164), (54, 208)
_SETPRIORITY, _IOPRIO_SET, _PRIO_PROCESS, _IOPRIO_WHO_PROCESS = (141, 140), (251, 30), 0, 1
# Calls whose first argument is a process: prlimit, sched_setparam, sched_setscheduler, sched_setattr.
_OF_A_PROCESS = (_PRLIMIT, (142, 118), (144, 119), (314, 274))

# The flags of clone that make namespaces, and CLONE_PARENT, which would make a child of the supervisor.
_CLONE_FLAGS = 0x7E020080 | 0x8000
_SHARED_ANONYMOUS, _HUGE_PAGES = 0x21, 0x40000
_RLIMIT_CORE = 4
_SOL_SOCKET = 1
_FCNTL, _F_SETPIPE_SZ = (72, 25), 1031
# SO_SNDBUF, SO_RCVBUF, SO_SNDBUFFORCE, SO_RCVBUFFORCE.
_BUFFER_SIZES = (7, 8, 32, 33)

# Instructions: load a word of the call's description, mask what was loaded, jump where it equals, exceeds or has a bit.
_LOAD, _AND, _EQUAL, _GREATER, _HAS, _RETURN, _JUMP = 0x20, 0x54, 0x15, 0x25, 0x45, 0x06, 0x05
_KILL, _ALLOW = 0x80000000, 0x7FFF0000
_NUMBER, _MACHINE = 0, 4

_GROUP = 10

_Code = list[tuple[int, int, int, int]]


@functools.cache
def system_call_filter(machine: str = platform.machine()) -> bytes:
    """Return the filter as a BPF program, 8 bytes an instruction.

    Raises:
        InputError: the machine is not supported.
    """
    code, column = _begin_program(machine)
    code += _where(_GREATER, _NEWEST, _refusal(errno.ENOSYS))
    code += _any_of([*refused_calls(machine).values()], _refusal(errno.EPERM))
    # The flags of clone3 are in memory, where a filter cannot see them; without it the C library uses clone.
    code += _where(_EQUAL, _CLONE3[column], _refusal(errno.ENOSYS))
    code += _call(_CLONE[column], [_load(0), *_where(_HAS, _CLONE_FLAGS, _refusal(errno.EPERM))])
    for call in (_SOCKET, _SOCKETPAIR):
        code += _call(call[column], [_load(0), *_unless(_EQUAL, socket.AF_UNIX, _refusal(errno.EAFNOSUPPORT))])
    # Shared memory without a file can be filled and unmapped, and still exists while no process maps it.
    shared = [(_AND, 0, 0, _SHARED_ANONYMOUS), *_where(_EQUAL, _SHARED_ANONYMOUS, _refusal(errno.EPERM))]
    huge = [_load(3), *_where(_HAS, _HUGE_PAGES, _refusal(errno.EPERM)), *shared]
    code += _call(_MMAP[column], huge)
    # A limit of one byte also keeps core dumps from the machine's collector; a limit of zero does not.
    halves = [[_load(2, high=high), *_where(_HAS, 0xFFFFFFFF, _refusal(errno.EPERM))] for high in (False, True)]
    setting = [instruction for half in halves for instruction in half]
    code += _call(_PRLIMIT[column], [_load(1), *_only(_RLIMIT_CORE, setting)])
    code += _call(_SETRLIMIT[column], [_load(0), *_where(_EQUAL, _RLIMIT_CORE, _refusal(errno.EPERM))])
    # The supervisor counts each pipe and socket with the default size of its buffer, so the size must not change.
    code += _call(_FCNTL[column], [_load(1), *_where(_EQUAL, _F_SETPIPE_SZ, _refusal(errno.EPERM))])
    sizes = [instruction for size in _BUFFER_SIZES for instruction in _where(_EQUAL, size, _refusal(errno.EPERM))]
    code += _call(_SETSOCKOPT[column], [_load(1), *_only(_SOL_SOCKET, [_load(2), *sizes])])
    return _assemble(code)


@functools.cache
def guard_of_the_first_process(machine: str) -> bytes:
    """Return a filter that protects the limits, the scheduler and the priority of process 1, for containers in which
    process 1 and the programs have the same user.

    Raises:
        InputError: the machine is not supported.
    """
    code, column = _begin_program(machine)
    first = _where(_EQUAL, 1, _refusal(errno.EPERM))
    for call in _OF_A_PROCESS:
        code += _call(call[column], [_load(0), *first])
    # A priority of a process group or of a user would include process 1.
    for call, one in ((_SETPRIORITY, _PRIO_PROCESS), (_IOPRIO_SET, _IOPRIO_WHO_PROCESS)):
        code += _call(call[column], [_load(0), *_unless(_EQUAL, one, _refusal(errno.EPERM)), _load(1), *first])
    return _assemble(code)


def _begin_program(machine: str) -> tuple[_Code, int]:
    """Return the first instructions, which load the number of the call, and the machine's column of numbers."""
    if machine not in _MACHINES:
        raise InputError(f"the system calls of {' and '.join(_MACHINES)} are known to the sandbox, not of {machine!r}.")
    code: _Code = [(_LOAD, 0, 0, _MACHINE), *_unless(_EQUAL, _MACHINES[machine], _KILL), (_LOAD, 0, 0, _NUMBER)]
    return code, [*_MACHINES].index(machine)


def _assemble(code: _Code) -> bytes:
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in [*code, (_RETURN, 0, 0, _ALLOW)])


def refused_calls(machine: str = platform.machine()) -> dict[str, int]:
    """Return the names and numbers of the calls that are refused whatever their arguments."""
    words = _REFUSED.split()
    numbers = words[1 + [*_MACHINES].index(machine) :: 3]
    return {name: int(number) for name, number in zip(words[::3], numbers) if number != "-"}


def _refusal(error: int) -> int:
    return 0x00050000 | error


def _load(argument: int, high: bool = False) -> tuple[int, int, int, int]:
    """Load half of an argument; on both machines the low half comes first."""
    return _LOAD, 0, 0, 16 + 8 * argument + 4 * high


def _where(test: int, value: int, answer: int) -> _Code:
    """Write code that returns ``answer`` if the test holds for the loaded word."""
    return [(test, 0, 1, value), (_RETURN, 0, 0, answer)]


def _unless(test: int, value: int, answer: int) -> _Code:
    return [(test, 1, 0, value), (_RETURN, 0, 0, answer)]


def _any_of(numbers: list[int], answer: int) -> _Code:
    """Write code that returns ``answer`` if the loaded word is one of ``numbers``. Numbers are compared in groups for
    speed, as the kernel runs the filter for every call."""
    numbers = sorted(numbers)
    code: _Code = []
    for first in range((len(numbers) - 1) // _GROUP * _GROUP, -1, -_GROUP):
        group = numbers[first : first + _GROUP]
        tests = [(_EQUAL, len(group) - place, 0, number) for place, number in enumerate(group)]
        found = [*tests, (_JUMP, 0, 0, 1 + len(code)), (_RETURN, 0, 0, answer)]
        code = [(_GREATER, len(found), 0, group[-1]), *found, *code]
    return code


def _only(value: int, code: _Code) -> _Code:
    """Write code that runs ``code`` only if the loaded word equals ``value``."""
    return [(_EQUAL, 0, len(code), value), *code]


def _call(number: int, code: _Code) -> _Code:
    """Write code that runs ``code`` for the call of this number, and allows the call if ``code`` gives no answer."""
    return _only(number, [*code, (_RETURN, 0, 0, _ALLOW)])
