"""Programs that try to read, write, reach or signal what is outside, and to leave something for the next program."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from pathlib import Path

import palaestra
from palaestra.envs.sandbox import Result
from palaestra.envs.sandbox.seccomp import refused_calls

from .attacks import PATIENT, Attack, ended, says

# The word that stands in a file of the machine, in its environment, and in an earlier program.
SECRET = "xyzzy-plugh"
_LIBC = "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"
_NUMBERS = refused_calls()
_CLONE = {"x86_64": 56, "aarch64": 220}[platform.machine()]


def tries(setup: str, *attempts: str) -> str:
    """A program that makes attempts, and tells which did not raise."""
    lines = [setup, "def attempt(name, action):"]
    lines += ["    try: print(name, 'gave', action())", "    except Exception: pass"]
    lines += [f"attempt({attempt!r}, lambda: {attempt})" for attempt in attempts]
    return "\n".join([*lines, "print('nothing')\n"])


nothing = says("nothing")

PLACES = (
    *("/etc/passwd", "/etc/shadow", "/etc/hostname", "/root/.ssh/id_rsa", "/proc/1/environ", "/proc/self/mem"),
    *("/proc/self/environ", "/proc/self/maps", "/sys/kernel/notes", "/dev/mem", "/dev/kmsg", "/dev/sda", "/dev/vda"),
    *("/dev/zero", "/dev/ptmx", "/dev/tty", "/run/docker.sock", "/var/run/docker.sock", "/var/log/syslog"),
    *(palaestra.__file__, str(Path.home()), str(Path.home() / ".bashrc"), os.getcwd(), sys.prefix + "/pyvenv.cfg"),
    *(__file__, str(Path(tempfile.gettempdir()) / "palaestra-secret")),
)
_SYSTEM = (
    *("/", "/usr", "/usr/bin", "/usr/lib", "/bin", "/lib", "/etc", "/dev", "/proc", "/sandbox", "/sandbox/inside"),
    *("/root", "/home", "/var", "/run"),
)
_TRACE, _TRACE_ME = f"libc.syscall({_NUMBERS['ptrace']}, 16, {{}}, 0, 0)", f"libc.syscall({_NUMBERS['ptrace']}, 0, 0)"
_RAISING = (
    "def checked(result):\n    if result < 0: raise OSError(ctypes.get_errno())\n    return result\n"
    "buffer = ctypes.create_string_buffer(4096)\n"
    "vector = (ctypes.c_uint64 * 2)(ctypes.addressof(buffer), 4096)\n"
)

READING = [
    Attack(
        "files of the machine",
        tries(
            "import os",
            *(f"open({place!r}, 'rb').read(9)" for place in PLACES),
            f"os.listdir({str(Path(__file__).parent)!r})",
        ),
        nothing,
    ),
    Attack(
        "folders that are empty",
        "import os\nprint(*(sorted(os.listdir(f)) for f in ('/proc', '/tmp', '/dev/shm', '/etc')))\n",
        says("[] ['program.py'] [] ['alternatives', 'ld.so.cache', 'localtime']"),
    ),
    Attack(
        "environment",
        "import os\nprint(SECRET_IS_IN := [v for v in os.environ.values() if 'xyzzy' in v], len(os.environ) < 9)\n",
        says("[] True"),
    ),
    Attack(
        "environment of the interpreter",
        _LIBC + "environ = ctypes.POINTER(ctypes.c_char_p).in_dll(libc, 'environ')\nfound, n = [], 0\n"
        "while environ[n]: found.append(environ[n]); n += 1\nprint(any(b'xyzzy' in word for word in found))\n",
        says("False"),
    ),
    Attack(
        "symlinks",
        tries(
            "import os, shutil\nos.symlink('/etc/passwd', 'x'); os.symlink('/proc/1/root', 'y'); "
            "os.symlink('/../..', 'z')",
            *("open('x').read()", "os.listdir('y')", f"open('z' + {__file__!r}).read()", "os.listdir('z' + '/home')"),
        ),
        nothing,
    ),
    Attack(
        "files by handle",
        tries(_LIBC + _RAISING, f"checked(libc.syscall({_NUMBERS['open_by_handle_at']}, 0, buffer, 0))"),
        nothing,
    ),
    Attack(
        "descriptors left open",
        "import os, stat\nfound = []\nfor descriptor in range(3, 64):\n"
        "    try: found.append(os.fstat(descriptor).st_mode)\n"
        "    except OSError: pass\nprint([stat.S_ISFIFO(mode) for mode in found])\n",
        says("[True]"),
    ),
    Attack(
        "name of the machine",
        f"import socket\nprint(socket.gethostname() == {platform.node()!r})\n",
        says("False"),
    ),
]

WRITING = [
    Attack(
        "folders of the system",
        tries(
            "import os, site, sys",
            *(f"open({place!r} + '/x', 'w')" for place in (*_SYSTEM, os.path.dirname(sys.executable))),
            "open(os.__file__, 'a')",
            "open(sys.executable, 'a')",
            "os.chmod(os.__file__, 0o777)",
            "os.unlink(os.__file__)",
            "os.utime(os.__file__)",
            "[open(f + '/x.py', 'w') for f in site.getsitepackages()[:1]]",
            "os.rename('/usr', '/x')",
            "os.mkdir('/x')",
            "os.symlink('/tmp', '/dev/x')",
            "open(sys.modules['inside.program'].__file__, 'a')",
        ),
        nothing,
    ),
    Attack(
        "devices",
        tries(
            "import os, stat",
            "os.mknod('x', stat.S_IFBLK | 0o666, os.makedev(254, 0))",
            "os.mknod('y', stat.S_IFCHR | 0o666, os.makedev(1, 1))",
        ),
        nothing,
    ),
    Attack(
        "files by another user",
        tries(
            "import os", "os.setuid(0)", "os.setgid(0)", "os.setgroups([0])", "os.chown('/tmp', 0, 0)", "os.seteuid(0)"
        ),
        nothing,
    ),
]

_FAMILIES = (
    "import socket\nfor family in range(2, 64):\n    for kind in (1, 2, 3, 5):\n"
    "        try: socket.socket(family, kind, 0); print(family)\n        except OSError: pass\nprint('nothing')\n"
)

NETWORK = [
    Attack("sockets of every family", _FAMILIES, nothing),
    Attack(
        "connections",
        tries(
            "import socket, urllib.request",
            "socket.create_connection(('127.0.0.1', 22), 1)",
            "socket.create_connection(('1.1.1.1', 53), 1)",
            "socket.create_connection(('::1', 22), 1)",
            "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))",
            "socket.getaddrinfo('example.org', 80)",
            "socket.gethostbyname('example.org')",
            "urllib.request.urlopen('http://127.0.0.1/', timeout=1)",
            "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
            "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
            "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
            "socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)",
            "socket.if_nameindex()",
        ),
        nothing,
    ),
    Attack(
        "abstract socket of the machine",
        tries("import socket\none = socket.socket(socket.AF_UNIX)", "one.connect('\\0palaestra-attack')"),
        nothing,
    ),
    Attack(
        "pairs of every family",
        "import socket\nfor family in range(2, 64):\n    try: socket.socketpair(family); print(family)\n"
        "    except OSError: pass\nprint('nothing')\n",
        nothing,
    ),
]

_PARENT = "os.kill(-1, {0}), os.kill(1, {0})"
SIGNALS = [
    Attack(
        "signals to the first process",
        "import os\nfor n in range(1, 65):\n    try: os.kill(1, n)\n    except OSError: pass\nprint('alive')\n",
        says("alive"),
    ),
    Attack(
        "signals to everybody",
        "import os\nfor n in range(1, 65):\n    try: os.kill(-1, n)\n    except OSError: pass\nprint('alive')\n",
        says("alive"),
    ),
    Attack("signal to its group", "import os\nos.kill(0, 9)\n", ended("signal")),
    Attack(
        "signals by number",
        "import os\nfor pid in range(3, 40_000):\n    try: os.kill(pid, 9); print(pid)\n"
        "    except OSError: pass\nprint('nothing')\n",
        nothing,
    ),
    Attack(
        "tracing and memory of others",
        tries(
            _LIBC + _RAISING,
            *(f"checked({_TRACE.format(pid)})" for pid in (1, "os.getppid()")),
            f"checked({_TRACE_ME})",
            "checked(libc.process_vm_readv(1, vector, 1, vector, 1, 0))",
            "checked(libc.process_vm_writev(1, vector, 1, vector, 1, 0))",
            f"checked(libc.syscall({_NUMBERS['pidfd_getfd']}, os.pidfd_open(1), 0, 0))",
            f"checked(libc.syscall({_NUMBERS['kcmp']}, 1, os.getpid(), 0, 0, 0))",
        ),
        nothing,
    ),
    Attack(
        "limits and cores",
        tries(
            "import os, resource",
            "resource.setrlimit(resource.RLIMIT_DATA, (1 << 40, 1 << 40))",
            "resource.setrlimit(resource.RLIMIT_NPROC, (100, 100))",
            "resource.setrlimit(resource.RLIMIT_NOFILE, (1000, 1000))",
            "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 40, 1 << 40))",
            "resource.setrlimit(resource.RLIMIT_CPU, (1000, 1000))",
            "resource.setrlimit(resource.RLIMIT_CORE, (0, 1))",
            "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))",
            "os.sched_setaffinity(0, range(1024))",
            "os.setpriority(os.PRIO_PROCESS, 0, -1)",
            "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))",
        ),
        nothing,
    ),
]

_CAPABILITIES = (
    _LIBC + "header, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()\n"
    "libc.capget(header, data)\nprint(list(data), [n for n in range(41) if libc.prctl(23, n, 0, 0, 0)])\n"
)
_EXECUTABLE = (
    _LIBC + "import mmap\n"
    "page = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, 7)\n"
    "page.write(bytes.fromhex({!r}))\n"
    "result = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()\nprint(result)\n"
)

KERNEL = [
    Attack(
        "calls that nobody needs",
        _LIBC + f"calls = {_NUMBERS!r}\nfor name, number in calls.items():\n"
        "    ctypes.set_errno(0)\n    result = libc.syscall(number, 0, 0, 0, 0, 0, 0)\n"
        "    if result != -1 or ctypes.get_errno() != 1: print(name, result, ctypes.get_errno())\nprint('nothing')\n",
        nothing,
    ),
    Attack(
        "calls that are new",
        _LIBC + "for number in (435, *range(453, 600), 0x40000000, 0x40000027, 2 ** 31):\n"
        "    ctypes.set_errno(0)\n    result = libc.syscall(number, 0, 0, 0, 0, 0, 0)\n"
        "    if result != -1 or ctypes.get_errno() != 38: print(number, result)\nprint('nothing')\n",
        nothing,
    ),
    Attack(
        "namespaces",
        tries(
            _LIBC + _RAISING,
            *(f"checked(libc.unshare({1 << bit}))" for bit in (7, 17, 25, 26, 27, 28, 29, 30)),
            *(
                f"checked(libc.syscall({_CLONE}, {1 << bit} | 17, None, None, None, None)) or os._exit(0)"
                for bit in (17, 25, 26, 27, 28, 29, 30)
            ),
        ),
        nothing,
    ),
    Attack(
        "mounts",
        tries(
            _LIBC + _RAISING,
            "checked(libc.mount(b'proc', b'/tmp', b'proc', 0, None))",
            "checked(libc.mount(b'tmpfs', b'/usr', b'tmpfs', 0, None))",
            "checked(libc.mount(b'/', b'/tmp', None, 4096, None))",
            "checked(libc.mount(None, b'/usr', None, 32 | 4096, None))",
            "checked(libc.umount2(b'/tmp', 2))",
            "os.chroot('/tmp')",
        ),
        nothing,
    ),
    Attack("capabilities", _CAPABILITIES, says("[0, 0, 0, 0, 0, 0] []")),
    Attack(
        "programs of the administrator",
        "import subprocess\n"
        "for words in (['su', '-c', 'id'], ['mount'], ['sudo', '-n', 'id'], ['passwd'],\n"
        "              ['newgrp'], ['unshare', '-r', 'id'],\n"
        "              ['bwrap', '--dev-bind', '/', '/', 'id']):\n"
        "    try: done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)\n"
        "    except OSError: continue\n    if done.returncode == 0: print(words, done.stdout)\nprint('nothing')\n",
        nothing,
    ),
    Attack(
        "shell",
        "import subprocess\nwords = 'cat /etc/passwd /proc/1/environ; echo x > /usr/x; cat /usr/x; echo end'\n"
        "print(subprocess.run(['/bin/sh', '-c', words], capture_output=True, text=True).stdout, end='')\n",
        says("end"),
    ),
    Attack(
        "another interpreter",
        "import subprocess, sys\nsource = 'import os, sys; "
        'print(os.getuid() != 0, os.path.exists("/etc/passwd"), sys.path[-1:])\'\n'
        "print(subprocess.run([sys.executable, '-I', '-c', source], capture_output=True, text=True).stdout[:10])\n",
        says("True False"),
    ),
    Attack(
        "files of the earlier calling convention",
        _LIBC + "print(libc.syscall(0x40000000 + 39))\n",
        says("-1"),
    ),
]
if platform.machine() == "x86_64":
    # mov eax, 20 (getpid); int 0x80; ret
    KERNEL.append(
        Attack("calls of 32 bits", _EXECUTABLE.format("b814000000cd80c3"), lambda result: result.exit_code == -31)
    )

CRASHES = [
    Attack("null pointer", "import ctypes\nctypes.string_at(0)\n", lambda result: result.exit_code == -11),
    Attack("abort", "import os\nos.abort()\n", lambda result: result.exit_code == -6),
    Attack("kill", "import os\nos.kill(os.getpid(), 9)\n", lambda result: result.exit_code == -9),
    Attack("end without cleaning", "import os\nos._exit(0)\n", lambda result: result.ok),
    Attack(
        "stack of the interpreter",
        "x = ()\nfor _ in range(2 * 10 ** 5): x = (x,)\nhash(x)\n",
        lambda result: result.exit_code == -11,
    ),
    Attack(
        "memory of the interpreter",
        "import ctypes\nfor n in range(1 << 12): ctypes.memset(id(None) + 8 * n, 255, 8)\n",
        lambda result: not result.ok,
    ),
    Attack(
        "core dump",
        "import os, resource\nprint(resource.getrlimit(resource.RLIMIT_CORE), flush=True)\nos.abort()\n",
        lambda result: result.stdout == "(1, 1)\n" and result.exit_code == -6,
    ),
]


def ran(result: Result) -> bool:
    """It did what it could: that is no crime, if the next program does not notice."""
    return result.reason == "exit" and result.stdout == "planted\n"


PLANTING = [
    Attack(f"planting: {name}", source + "\nprint('planted')\n", ran, PATIENT)
    for name, source in {
        "files": "import os\nos.makedirs('a/b/c'); open('a/b/c/d', 'w').write('x'); open('/dev/shm/x', 'w').write('x')",
        "file with the old times": "import os\nold = os.stat('/tmp')\nopen('x', 'w').close()\n"
        "try: os.utime('/tmp', ns=(old.st_atime_ns, old.st_mtime_ns))\nexcept PermissionError: pass",
        "module": "open('json.py', 'w').write('print(1)'); open('numpy.py', 'w').write('print(2)'); "
        "open('sitecustomize.py', 'w').write('print(3)')",
        "folder that nobody can enter": "import os\nos.mkdir('x'); open('x/y', 'w').close(); os.chmod('x', 0)",
        "rights of the folder": "import os\nfor folder in ('/tmp', '/dev/shm'):\n    try: os.chmod(folder, 0)\n"
        "    except PermissionError: pass",
        "attributes of the folder": "import os\nfor folder in ('/tmp', '/dev/shm'):\n"
        "    try: os.setxattr(folder, 'user.x', b'x' * 1000)\n    except OSError: pass",
        "links for standard input": "import os\nos.symlink('/etc/passwd', '/dev/shm/.stdin')",
        "patched modules": "import builtins, json, sys, os\njson.dumps = json.loads = builtins.print\n"
        "sys.exit = os._exit = len\nsys.modules['inside.program'].finish = len\n"
        "sys.modules['inside.program'].report_exception = len\n"
        "builtins.print, show = len, builtins.print\nprint = show",
        "environment": "import os\nos.environ['PYTHONSTARTUP'] = 'x'; os.putenv('LD_PRELOAD', 'x')",
        "mask, folder and niceness": "import os\nos.umask(0o777); os.chdir('/'); os.nice(19)",
        "process": "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork(): os._exit(0)\n"
        "    os.closerange(0, 64); time.sleep(600)\ntime.sleep(0.05)",
        "process at a socket": "import os, socket, time\nif os.fork() == 0:\n    one = socket.socket(socket.AF_UNIX); "
        "one.bind('\\0planted'); one.listen(); time.sleep(600)\ntime.sleep(0.05)",
        "descriptors in sockets": "import array, socket\none, other = socket.socketpair()\n"
        "for _ in range(20): socket.send_fds(one, [b'x'], [one.fileno(), other.fileno()])",
        # The kernel clears such a circle away when it likes; the output of the run stays open as long.
        "output in a circle of sockets": "import socket\nfor _ in range(8):\n    one, other = socket.socketpair()\n"
        "    for end in (one, other): socket.send_fds(end, [b'x'], [1, one.fileno(), other.fileno()])",
        "alarm": "import signal\nsignal.setitimer(signal.ITIMER_REAL, 100); "
        "signal.pthread_sigmask(signal.SIG_BLOCK, [15])",
        "garbage": "import gc\nclass Keep: pass\nhoard = [Keep() for _ in range(10_000)]\nhoard.append(hoard); "
        "gc.disable(); gc.freeze()",
        "secret": f"secret = {SECRET!r} + 'of the earlier program'",
    }.items()
]

WALLS = [*READING, *WRITING, *NETWORK, *SIGNALS, *KERNEL, *CRASHES, *PLANTING]
