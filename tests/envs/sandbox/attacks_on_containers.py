"""Attacks that differ in a container, which has a /proc and some devices, and attacks on the first process of one,
which has the user of the programs."""

from __future__ import annotations

from dataclasses import replace

from .attacks import MEMORY_OF_SEVERAL, PATIENT, Attack, says
from .attacks_on_walls import PLACES, nothing, tries

# Those of the program's own process, harmless devices, and what tells of the kernel's build.
_OWN = {
    *("/proc/self/mem", "/proc/self/environ", "/proc/self/maps", "/etc/hostname"),
    *("/dev/zero", "/dev/ptmx", "/dev/tty", "/sys/kernel/notes"),
}

# What stands for the attacks of the same names.
IN_A_CONTAINER = {
    attack.name: attack
    for attack in (
        Attack(
            "files of the machine",
            tries("", *(f"open({place!r}, 'rb').read(9)" for place in PLACES if place not in _OWN)),
            nothing,
        ),
        Attack(
            "folders that are empty",
            "import os\nprint(*(os.listdir(f) for f in ('/tmp', '/dev/shm', '/dev/mqueue', '/sys/firmware')))\n",
            says("['program.py'] [] [] []"),
        ),
        Attack(
            "shell",
            "import subprocess\nprint(subprocess.run(['/bin/sh', '-c', 'cat /etc/passwd; ls /root /home; "
            "echo x > /usr/x; echo end'],\n                     capture_output=True, text=True).stdout.split())\n",
            says("['/root:', 'end']"),
        ),
        Attack(
            "programs of the administrator",
            "import subprocess\n"
            "for words in (['su', '-c', 'id'], ['mount', '-t', 'tmpfs', 'x', '/tmp'], ['umount', '/tmp'], ['passwd'],\n"
            "              ['newgrp'], ['unshare', '-r', 'id'], ['unshare', '-n', 'id']):\n"
            "    try: done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)\n"
            "    except OSError: continue\n    if done.returncode == 0: print(words, done.stdout)\nprint('nothing')\n",
            nothing,
        ),
        Attack(
            "signals by number",
            "import os\nfor pid in {*range(2, 40_000)} - {os.getpid()}:\n"
            "    try: os.kill(pid, 9); print(pid)\n    except OSError: pass\nprint('nothing')\n",
            nothing,
        ),
        # The kernel bounds what they hold at a time. When it kills one of them, the others get the memory that this
        # frees until the run is ended: their marks may be more than the limit.
        *(replace(attack, within=lambda result: True) for attack in MEMORY_OF_SEVERAL),
    )
}

_NUMBERS = (
    "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"
    "calls = {'x86_64': (129, 297, 424, 142, 144, 314, 251), 'aarch64': (138, 240, 424, 118, 119, 274, 30)}\n"
    "queue, queue_to, send, param, scheduler, attributes, io = calls[os.uname().machine]\n"
    "def checked(result):\n    if result: raise OSError(ctypes.get_errno())\n    return result\n"
)
# Whoever holds these of a process has it.
_FILES = ("mem", "environ", "maps", "smaps", "fd", "root/etc", "cwd", "exe", "auxv", "stack", "syscall", "map_files")
_SETTINGS = ("oom_score_adj", "oom_adj", "clear_refs", "comm", "timerslack_ns", "coredump_filter", "attr/current")

ON_THE_FIRST_PROCESS = [
    Attack(
        "its limits",
        tries(
            "import resource",
            *(f"resource.prlimit(1, {kind}, ({limit}, {limit}))" for kind in range(16) for limit in (0, 1)),
            "resource.prlimit(1, resource.RLIMIT_CPU)",
        ),
        nothing,
    ),
    Attack(
        "its priority",
        tries(
            _NUMBERS,
            *(
                f"os.setpriority({kind}, {who}, 19)"
                for kind, who in ((0, 1), (1, 1), (1, 0), (2, 0), (2, "os.getuid()"))
            ),
            *(
                f"checked(libc.syscall(io, {kind}, {who}, 3 << 13))"
                for kind, who in ((1, 1), (2, 1), (2, 0), (3, 0), (3, "os.getuid()"))
            ),
            "checked(libc.syscall(scheduler, 1, 5, (ctypes.c_int * 1)(0)))",
            "checked(libc.syscall(param, 1, (ctypes.c_int * 1)(0)))",
            "checked(libc.syscall(attributes, 1, (ctypes.c_int * 20)(48, 5), 0))",
            "{}[os.getpriority(os.PRIO_PROCESS, 1) == os.getpriority(os.PRIO_PROCESS, 0)] or 1 / 0",
        ),
        nothing,
    ),
    Attack(
        "its files",
        tries(
            "import os\ndef put(name):\n    file = os.open(name, os.O_WRONLY)\n    os.write(file, b'0')\n",
            *(f"open('/proc/1/{name}', 'rb').read(9)" for name in _FILES),
            *(f"os.listdir('/proc/1/{name}')" for name in _FILES),
            *(f"os.readlink('/proc/1/{name}')" for name in (*_FILES, "fd/0", "ns/pid")),
            *(f"put('/proc/1/{name}')" for name in (*_SETTINGS, "mem", "fd/0", "fd/1", "task/1/comm")),
        ),
        nothing,
    ),
    Attack(
        "forged signals",
        _NUMBERS + "for number in range(1, 65):\n    for code in (-1, -2, -6, -60, 0, 1, 0x80):\n"
        "        forged = (ctypes.c_int * 32)(number, 0, code, 0, 0, 0)\n"
        "        libc.syscall(queue, 1, number, forged); libc.syscall(queue_to, 1, 1, number, forged)\n"
        "    libc.syscall(send, os.pidfd_open(1) if number == 1 else 3, number, None, 0)\nprint('alive')\n",
        says("alive"),
    ),
    Attack(
        "signals of a socket",
        "import fcntl, os, socket\none, other = socket.socketpair()\nfor number in (0, 9, 15, 19, 29):\n"
        "    fcntl.fcntl(one, fcntl.F_SETOWN, 1); fcntl.fcntl(one, 10, number)\n"
        "    fcntl.fcntl(one, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)\n"
        "    for _ in range(2000): other.send(b'x'); one.recv(9)\nprint('alive')\n",
        says("alive"),
    ),
    Attack(
        "output taken back",
        "import os, time\nback = os.open('/proc/self/fd/1', os.O_RDONLY | os.O_NONBLOCK)\n"
        "end = time.monotonic() + 0.5\nwhile time.monotonic() < end:\n    os.write(1, b'x')\n"
        "    try: os.read(back, 100)\n    except BlockingIOError: pass\nos.closerange(0, 64)\n",
        lambda result: result.ok and set(result.stdout) <= {"x"},
    ),
    Attack(
        "queues",
        tries("import os", "os.listdir('/dev/mqueue')[0]", "open('/dev/mqueue/x', 'w')", "os.mkdir('/dev/mqueue/x')"),
        nothing,
    ),
    Attack(
        "memory, after giving away the rank of the first to go",
        "import os, time\nopen('/proc/self/oom_score_adj', 'w').write('500')\nfor _ in range(12):\n"
        "    if os.fork() == 0: break\nhoard = []\nwhile True:\n    hoard.append(bytearray(b'x' * 65536))\n"
        "    if len(hoard) == 100: time.sleep(0.1)\n",
        lambda result: result.reason == "memory",
    ),
    # What execs is smaller than the first process; what fills a folder is nobody's.
    Attack(
        "memory of the first process",
        "import os\nopen('/proc/self/oom_score_adj', 'w').write('500')\n"
        "os.execv('/bin/sh', ['sh', '-c', '"
        "for i in 1 2 3; do dd if=/dev/zero of=/dev/shm/$i bs=1M count=99; done'])\n",
        lambda result: result.reason == "memory",
        replace(PATIENT, memory_mb=128, disk_mb=512),
    ),
]
