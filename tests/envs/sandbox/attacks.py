"""Programs that try to use more than they may, to get out, or to stay, and what must hold of each.

Those that use too much are here; those that try to get out, and to stay, in ``attacks_on_walls.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from palaestra.envs.sandbox import Limits, Result

# For what must end by itself, and for what never would.
PATIENT = Limits(
    seconds=20, memory_mb=128, processes=16, files=64, disk_mb=8, output_bytes=1 << 16, value_bytes=1 << 16
)
BRIEF = Limits(seconds=0.6, memory_mb=128, processes=16, files=64, disk_mb=8, output_bytes=1 << 16, value_bytes=1 << 16)
# The most that any limit may be exceeded by, as a factor; and of memory, MiB.
BEYOND = 1.2
MEMORY_AT_MOST = BEYOND * 128


@dataclass(frozen=True)
class Attack:
    """A program, whether a result shows that it was contained, and whether it got no more than its limit allows, which
    on a busy machine may be seen too late."""

    name: str
    source: str
    contained: Callable[[Result], bool]
    limits: Limits = PATIENT
    within: Callable[[Result], bool] = lambda result: True


def says(text: str) -> Callable[[Result], bool]:
    """It ended by itself, and its output is ``text``: what it prints when nothing that it tried worked."""
    return lambda result: result.ok and result.stdout == text + "\n"


def ended(*reasons: str) -> Callable[[Result], bool]:
    return lambda result: result.reason in reasons


def at_most(count: float, mark: str = ".", least: int = 1) -> Callable[[Result], bool]:
    """It wrote a mark for each thing that it got hold of, and got hold of some, but not too many."""
    return lambda result: least <= result.stdout.count(mark) <= count


# Of these, each writes a mark for every process, MiB or file that it got.
_MIB = "import os\nhoard = []\ndef take():\n    hoard.append(bytearray(b'x') * (1 << 20))\n    os.write(1, b'.')\n"
# No process holds more than a part of the limit: it would be refused more before the others have begun.
_PART = "import time\nwhile len(hoard) < 45: take()\ntime.sleep(60)\n"

PROCESSES = [
    Attack(
        "fork bomb",
        "import os, time\nwhile True:\n    try:\n        if os.fork() == 0: os.write(1, b'.')\n"
        "    except OSError: time.sleep(0.01)\n",
        lambda result: result.reason == "time" and result.stdout.count(".") <= 16,
        BRIEF,
        # A machine that stands still may leave no time for any.
        within=lambda result: result.stdout.count(".") >= 2,
    ),
    Attack(
        "fork bomb of generations",
        "import os\nwhile True:\n    try:\n        if os.fork(): os._exit(0)\n    except OSError: pass\n",
        lambda result: result.ok,
    ),
    Attack(
        "threads",
        "import os, threading, time\ntry:\n    while True:\n"
        "        threading.Thread(target=time.sleep, args=(60,), daemon=True).start(); os.write(1, b'.')\n"
        "except RuntimeError: os._exit(0)\n",
        at_most(15, least=10),
    ),
    Attack(
        "subprocesses",
        "import os, subprocess\ntry:\n    while True:\n        subprocess.Popen(['/bin/sleep', '60']); "
        "os.write(1, b'.')\n"
        "except OSError: os._exit(0)\n",
        at_most(15, least=5),
    ),
    Attack(
        "daemons",
        "import os, time\nfor _ in range(4):\n    if os.fork() == 0:\n        os.setsid()\n"
        "        if os.fork(): os._exit(0)\n"
        "        os.closerange(0, 64)\n"
        "        while True:\n            open(f'/tmp/alive{os.getpid()}', 'w').close(); time.sleep(0.001)\n"
        "time.sleep(0.1)\nprint('left')\n",
        says("left"),
    ),
    Attack(
        "sister process",
        "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "number = {'x86_64': 56, 'aarch64': 220}[os.uname().machine]\n"
        "pid = libc.syscall(number, 0x8000 | 17, None, None, None, None)\n"
        "if pid == 0: os._exit(0)\nprint('refused' if pid < 0 else 'made')\n",
        says("refused"),
    ),
    Attack(
        "all cores",
        "import os\nos.fork(); os.fork(); os.fork()\nwhile True: pass\n",
        ended("time"),
        BRIEF,
    ),
]

# Together they hold no more than the limit; each mark is a MiB that one of them got.
MEMORY_OF_SEVERAL = [
    Attack(
        "memory of four processes",
        _MIB + "os.fork(); os.fork()\n" + _PART,
        ended("memory"),
        within=at_most(MEMORY_AT_MOST, least=64),
    ),
    Attack(
        "memory of processes that write all the time",
        _MIB + "import time\nif os.fork() == 0:\n    while True: os.write(1, b','); time.sleep(0.002)\n"
        "os.fork(); os.fork()\n" + _PART,
        ended("memory"),
        within=at_most(MEMORY_AT_MOST, least=64),
    ),
    Attack(
        "memory of many processes at once",
        _MIB + "import time\nwait, go = os.pipe()\nfor _ in range(14):\n    if os.fork() == 0:\n"
        "        os.close(go); os.read(wait, 1)\n        while True: take()\n"
        "time.sleep(0.2); os.close(go); time.sleep(60)\n",
        ended("memory"),
        within=at_most(MEMORY_AT_MOST, least=64),
    ),
    Attack(
        "memory written after sharing",
        _MIB + "for _ in range(60): take()\nos.fork(); os.fork(); os.fork()\n"
        "for piece in hoard:\n    piece[::4096] = b'y' * 256; os.write(1, b',')\n"
        "import time; time.sleep(60)\n",
        ended("memory"),
        # A mark for each MiB copied; the first 60 are shared.
        within=at_most(MEMORY_AT_MOST - 60, ","),
    ),
]

MEMORY = [
    *MEMORY_OF_SEVERAL,
    Attack("memory of one process", _MIB + "while True: take()\n", at_most(MEMORY_AT_MOST, least=50)),
    Attack(
        "memory shared without a file",
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nlibc.mmap.restype = ctypes.c_void_p\n"
        "got = libc.mmap(None, ctypes.c_size_t(1 << 24), 3, 0x21, -1, ctypes.c_long(0))\n"
        "print('refused' if got == 2 ** 64 - 1 else 'got')\n",
        says("refused"),
    ),
    Attack(
        "memory shared by mmap",
        _MIB + "import mmap\nwhile True:\n    piece = mmap.mmap(-1, 1 << 20); piece[::] = b'x' * (1 << 20)\n"
        "    hoard.append(piece); os.write(1, b'.')\n",
        at_most(10),
    ),
    Attack(
        "files in memory",
        "import ctypes, os\ntry:\n    os.memfd_create('x'); print('got')\nexcept OSError: print('refused')\n",
        says("refused"),
    ),
    Attack(
        "memory of a folder",
        _MIB + "while True:\n    open(f'/dev/shm/{len(hoard)}', 'wb').write(b'x' * (1 << 20)); take()\n",
        at_most(9.6, least=4),
    ),
    Attack(
        "memory of sockets",
        "import os, socket\nhoard = []\nfor _ in range(11):\n    if os.fork() == 0: break\nwhile True:\n"
        "    try: pair = socket.socketpair()\n"
        "    except OSError: import time; time.sleep(60)\n"
        "    hoard.append(pair)\n    for one in pair:\n        one.setblocking(False)\n"
        "        try:\n            while True: one.send(b'x' * 4096)\n"
        "        except BlockingIOError: os.write(1, b'.')\n",
        ended("memory"),
        # A mark for each pair, both of which are full.
        within=at_most(MEMORY_AT_MOST / 0.2),
    ),
    Attack(
        "memory of pipes",
        "import os, time\nfor _ in range(13):\n    if os.fork() == 0: break\nhoard = []\nwhile True:\n"
        "    try: pipe = os.pipe()\n    except OSError: time.sleep(60)\n"
        "    hoard.append(pipe[0]); os.set_blocking(pipe[1], False)\n"
        "    try:\n        while True: os.write(pipe[1], b'x' * 4096)\n"
        "    except BlockingIOError: os.close(pipe[1]); os.write(1, b'.' * 16)\n",
        ended("memory"),
        replace(PATIENT, memory_mb=32),
        # A mark for each page of a pipe that is full.
        within=lambda result: result.stdout.count(".") <= 2 * 32 * 256,
    ),
    Attack(
        "large buffers of sockets",
        "import socket\none, other = socket.socketpair()\n"
        "before = one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)\n"
        "for kind in (7, 8, 32, 33):\n    try: one.setsockopt(socket.SOL_SOCKET, kind, 1 << 24); print('set')\n"
        "    except PermissionError: pass\n"
        "print(one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) <= before)\n",
        says("True"),
    ),
    # Each turn pins a page of two mebibytes that no process has any more.
    Attack(
        "memory of pages given to pipes",
        "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\nlibc.mmap.restype = ctypes.c_void_p\n"
        "size, got = 4 << 20, 0\nfor _ in range(28):\n    end = os.pipe()[1]\n    for _ in range(16):\n"
        "        place = libc.mmap(None, ctypes.c_size_t(size), 3, 0x22, -1, ctypes.c_long(0))\n"
        "        libc.madvise(ctypes.c_void_p(place), ctypes.c_size_t(size), 14)\n"
        "        page = place + (1 << 21) & ~((1 << 21) - 1)\n        ctypes.memset(page, 1, 4096)\n"
        "        piece = (ctypes.c_size_t * 2)(page, 4096)\n"
        "        got += libc.vmsplice(end, piece, ctypes.c_size_t(1), 2) > 0\n"
        "        libc.munmap(ctypes.c_void_p(place), ctypes.c_size_t(size))\nprint(got)\n",
        says("0"),
    ),
    Attack(
        "recursion without end",
        "import sys\nsys.setrecursionlimit(10 ** 9)\ndef f(n): return f(n + 1) + 1\nf(0)\n",
        lambda result: not result.ok and result.peak_memory_mb <= MEMORY_AT_MOST,
        BRIEF,
    ),
    Attack("huge integer", "print(len(bin(1 << (1 << 40))))\n", lambda result: result.stderr.endswith("MemoryError\n")),
    Attack("huge text", "print(len('x' * (1 << 40)))\n", lambda result: result.stderr.endswith("MemoryError\n")),
    Attack(
        "text that doubles",
        "text = 'x'\nwhile True: text += text\n",
        lambda result: not result.ok and result.peak_memory_mb <= MEMORY_AT_MOST,
    ),
    Attack(
        "thread with a huge stack",
        "import threading\nthreading.stack_size(1 << 40)\n"
        "def f(n): return n and f(n - 1)\n"
        "thread = threading.Thread(target=lambda: print(f(500))); thread.start(); thread.join()\n",
        says("0"),
    ),
]

DISK = [
    Attack(
        "one large file",
        "import os\nwith open('x', 'wb', 0) as file:\n    while True:\n"
        "        file.write(b'x' * (1 << 20)); os.write(1, b'.')\n",
        at_most(9.6, least=4),
    ),
    Attack(
        "many large files",
        "import os\nfor n in range(1000):\n    with open(f'{n}', 'wb', 0) as file:\n"
        "        file.write(b'x' * (1 << 20)); os.write(1, b'.')\n",
        at_most(9.6, least=4),
    ),
    Attack(
        "many small files",
        "import os\nfor n in range(100_000):\n    open(f'{n}', 'w').close(); os.write(1, b'.')\n",
        at_most(64, least=32),
    ),
    Attack(
        "many folders",
        "import os\nfor n in range(100_000):\n    os.mkdir('x'); os.chdir('x'); os.write(1, b'.')\n",
        at_most(64, least=32),
    ),
    Attack(
        "many links",
        "import os\nopen('x', 'w').close()\nfor n in range(100_000):\n    os.link('x', f'{n}'); os.write(1, b'.')\n",
        at_most(64, least=32),
    ),
    Attack(
        "sparse file",
        "import os\n"
        "for grow in (lambda file: file.truncate(1 << 40),\n"
        "             lambda file: os.posix_fallocate(file.fileno(), 0, 1 << 30),\n"
        "             lambda file: (file.seek(1 << 40), file.write('x'), file.flush())):\n"
        "    try:\n        with open('x', 'w') as file: grow(file)\n        print('grown')\n"
        "    except OSError: pass\nprint('refused')\n",
        says("refused"),
    ),
    Attack(
        "unlinked files",
        "import os\nhoard = []\nfor n in range(60):\n    file = open('x', 'wb', 0); os.unlink('x'); "
        "hoard.append(file)\n"
        "    file.write(b'x' * (1 << 20)); os.write(1, b'.')\n",
        at_most(9.6, least=4),
    ),
]

_FLOOD = "import os\nwhile True: os.write({}, b'x' * 65536)\n"


def flooded(result: Result) -> bool:
    return result.reason == "output" and len(result.stdout) <= 1 << 16 and len(result.stderr) <= 1 << 16


OUTPUT = [
    Attack("flood of output", _FLOOD.format(1), flooded),
    Attack("flood of error output", _FLOOD.format(2), flooded),
    Attack("flood of small pieces", "while True: print('x' * 63, flush=True)\n", flooded),
    Attack(
        "flood of everything",
        "import os\nwhile True:\n    for descriptor in range(1, 64):\n"
        "        try: os.write(descriptor, b'x' * 60_000)\n"
        "        except OSError: pass\n",
        flooded,
    ),
    Attack(
        "flood of the channel for values",
        "import os\nwhile True:\n    for descriptor in range(3, 64):\n"
        "        try: os.write(descriptor, b'x' * 60_000)\n"
        "        except OSError: pass\n",
        lambda result: flooded(result) and result.stdout == "",
    ),
    Attack(
        "flood after closing",
        "import os\nother = os.dup(1)\nos.close(0); os.close(1); os.close(2)\n"
        "while True: os.write(other, b'x' * 65536)\n",
        flooded,
    ),
    Attack("flood of children", "import os\nfor _ in range(3): os.fork()\n" + _FLOOD.format(1)[10:], flooded),
    Attack(
        "wide pipes",
        "import fcntl, os\nfor descriptor in (1, 2, *os.pipe()):\n"
        "    try: fcntl.fcntl(descriptor, 1031, 1 << 20); print('widened')\n    except PermissionError: pass\n"
        "print(fcntl.fcntl(1, 1032) <= 1 << 16)\n",
        says("True"),
    ),
    Attack(
        "descriptors",
        "import os\nwhile True:\n    os.open('/dev/null', os.O_RDONLY); os.write(1, b'.')\n",
        at_most(64, least=40),
    ),
]

TIME = [
    Attack(f"endless: {name}", source, ended("time"), BRIEF)
    for name, source in {
        "loop": "while True: pass\n",
        "sum": "sum(range(10 ** 12))\n",
        "power": "x = 3 ** (10 ** 9)\n",
        "regular expression": "import re\nre.match('(a+)+$', 'a' * 64 + 'b')\n",
        "iterator": "import collections, itertools\ncollections.deque(itertools.count(), maxlen=0)\n",
        "sleep": "import time\ntime.sleep(60)\n",
        "reading": "import os\nos.read(os.pipe()[0], 1)\n",
        "signals ignored": "import signal\nfor n in range(1, 65):\n    try: signal.signal(n, signal.SIG_IGN)\n"
        "    except (OSError, ValueError): pass\nwhile True: pass\n",
        "signals blocked": "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\nwhile True: pass\n",
        "stopped": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\n",
        "after its end": "import atexit, time\natexit.register(time.sleep, 60)\n",
        "on being forgotten": "class X:\n    def __del__(self):\n        while True: pass\nx = X()\n",
        "thread": "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\n",
        "patched clock": "import time\ntime.monotonic = time.time = lambda: 0.0\nwhile True: pass\n",
        "exception caught": "while True:\n    try:\n        while True: pass\n    except BaseException: pass\n",
    }.items()
]

USE = [*PROCESSES, *MEMORY, *DISK, *OUTPUT, *TIME]
