"""Programs that do nothing wrong with threads, processes, files and other parts of the library."""

from __future__ import annotations

from .benign import Benign

LIBRARY = [
    Benign(
        "threads",
        "import threading\nfound = []\n"
        "ts = [threading.Thread(target=found.append, args=(n,)) for n in range(8)]\n"
        "[t.start() for t in ts]; [t.join() for t in ts]\nprint(sorted(found))",
        "[0, 1, 2, 3, 4, 5, 6, 7]\n",
    ),
    Benign(
        "thread that ends last",
        "import threading, time\n"
        "threading.Thread(target=lambda: (time.sleep(0.05), print('late'))).start()\nprint('early')",
        "early\nlate\n",
    ),
    Benign(
        "daemon thread",
        "import threading, time\nthreading.Thread(target=time.sleep, args=(100,), daemon=True).start()\nprint('end')",
        "end\n",
    ),
    Benign(
        "pool of threads",
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor() as pool: print(sum(pool.map(abs, range(-100, 0))))",
        "5050\n",
    ),
    Benign(
        "thirty threads",
        "import threading\ngate = threading.Barrier(31)\n"
        "ts = [threading.Thread(target=gate.wait) for _ in range(30)]\n[t.start() for t in ts]; "
        "gate.wait(); [t.join() for t in ts]\nprint('all')",
        "all\n",
    ),
    Benign(
        "processes",
        "import multiprocessing as mp\ndef f(q, n): q.put(n * n)\nif __name__ == '__main__':\n"
        "    q = mp.Queue(); ps = [mp.Process(target=f, args=(q, n)) for n in range(3)]\n"
        "    [p.start() for p in ps]; print(sorted(q.get() for _ in ps)); [p.join() for p in ps]",
        "[0, 1, 4]\n",
    ),
    Benign(
        "pool of processes",
        "from multiprocessing import Pool\ndef f(n): return n * n\nif __name__ == '__main__':\n"
        "    with Pool(3) as pool: print(pool.map(f, range(5)))",
        "[0, 1, 4, 9, 16]\n",
    ),
    Benign(
        "spawned process",
        "import multiprocessing as mp\ndef f(q): q.put(7)\nif __name__ == '__main__':\n"
        "    c = mp.get_context('spawn'); q = c.Queue(); p = c.Process(target=f, args=(q,)); p.start(); "
        "print(q.get()); p.join()",
        "7\n",
    ),
    Benign(
        "executor of processes",
        "from concurrent.futures import ProcessPoolExecutor\ndef f(n): return -n\n"
        "if __name__ == '__main__':\n"
        "    with ProcessPoolExecutor(2) as pool: print(list(pool.map(f, range(3))))",
        "[0, -1, -2]\n",
    ),
    Benign(
        "shared values",
        "import multiprocessing as mp\ndef f(v):\n    with v.get_lock(): v.value += 1\n"
        "v = mp.Value('i', 0)\nps = [mp.Process(target=f, args=(v,)) for _ in range(3)]\n"
        "[p.start() for p in ps]; [p.join() for p in ps]\nprint(v.value)",
        "3\n",
    ),
    Benign(
        "shared memory",
        "from multiprocessing import shared_memory\n"
        "m = shared_memory.SharedMemory(create=True, size=100); m.buf[0] = 5\n"
        "n = shared_memory.SharedMemory(m.name); print(n.buf[0]); m.unlink()",
        "5\n",
        stderr=(),
    ),
    Benign(
        "memory after a fork",
        "import os\nbig = bytearray(100 << 20)\npids = []\nfor _ in range(4):\n    pid = os.fork()\n"
        "    if pid == 0:\n        import time; time.sleep(0.1); os._exit(len(big) & 1)\n"
        "    pids.append(pid)\nprint([os.waitpid(pid, 0)[1] for pid in pids])",
        "[0, 0, 0, 0]\n",
    ),
    Benign(
        "mapped memory",
        "import mmap\nm = mmap.mmap(-1, 8192); m.write(b'hello'); m.seek(0); "
        "print(m.read(5), len(m), type(m).__name__); m.close()",
        "b'hello' 8192 mmap\n",
    ),
    Benign(
        "mapped memory of two processes",
        "import mmap, os\nm = mmap.mmap(-1, 4096)\nif os.fork() == 0:\n    m[:2] = b'hi'; os._exit(0)\n"
        "os.wait(); "
        "print(m[:2], mmap.mmap(-1, 10, flags=mmap.MAP_PRIVATE)[0], mmap.mmap(-1, 9, access=mmap.ACCESS_WRITE)[0])",
        "b'hi' 0 0\n",
    ),
    Benign(
        "commands",
        "import subprocess, sys\n"
        "print(subprocess.run([sys.executable, '-c', 'print(6 * 7)'], capture_output=True, text=True).stdout, end='')\n"
        "print(subprocess.check_output('echo $((1 + 1))', shell=True))",
        "42\nb'2\\n'\n",
    ),
    Benign(
        "itself again",
        "import subprocess, sys\nif len(sys.argv) > 1: print('child', sys.argv[1])\n"
        "else: print(subprocess.check_output([sys.executable, __file__, 'x']))",
        "b'child x\\n'\n",
    ),
    Benign("input of a command", "import subprocess\nprint(subprocess.check_output(['/bin/cat']))", "b'abc'\n", "abc"),
    Benign(
        "coroutines",
        "import asyncio\nasync def f(n):\n    await asyncio.sleep(0.01); return n\n"
        "async def main(): print(await asyncio.gather(*map(f, range(3))))\nasyncio.run(main())",
        "[0, 1, 2]\n",
    ),
    Benign(
        "coroutines and threads",
        "import asyncio, time\n"
        "async def main(): print(await asyncio.to_thread(abs, -5), await asyncio.wait_for(asyncio.sleep(0, 'x'), 5))\n"
        "asyncio.run(main())",
        "5 x\n",
    ),
    Benign(
        "commands of coroutines",
        "import asyncio\nasync def main():\n"
        "    p = await asyncio.create_subprocess_exec('/bin/echo', 'hi', stdout=-1); "
        "print((await p.communicate())[0])\nasyncio.run(main())",
        "b'hi\\n'\n",
    ),
    Benign(
        "alarm",
        "import signal, time\ndef late(*_): raise TimeoutError\nsignal.signal(signal.SIGALRM, late); "
        "signal.setitimer(signal.ITIMER_REAL, 0.05)\ntry: time.sleep(30)\n"
        "except TimeoutError: print('late')",
        "late\n",
    ),
    Benign("alarm without a handler", "import signal, time\nsignal.alarm(1); time.sleep(30)", "", code=-14),
    Benign(
        "handlers",
        "import os, signal\nsignal.signal(signal.SIGUSR1, lambda n, _: print(n)); "
        "os.kill(os.getpid(), signal.SIGUSR1)\ntry: signal.raise_signal(signal.SIGINT)\n"
        "except KeyboardInterrupt: print('int')",
        "10\nint\n",
    ),
    Benign(
        "orphans and children",
        "import os\nif os.fork() == 0:\n    if os.fork() == 0: os._exit(0)\n    os._exit(3)\n"
        "print(os.waitstatus_to_exitcode(os.wait()[1]))\ntry: os.wait()\n"
        "except ChildProcessError: print('none')",
        "3\nnone\n",
    ),
    Benign(
        "sleep",
        "import time\nbegun = time.monotonic(); time.sleep(0.2); print(time.monotonic() - begun >= 0.2)",
        "True\n",
    ),
    Benign(
        "temporary files",
        "import tempfile, os\nwith tempfile.TemporaryDirectory() as d:\n"
        "    with open(os.path.join(d, 'x'), 'w+') as f:\n        f.write('hi'); f.seek(0); "
        "print(f.read())\nwith tempfile.NamedTemporaryFile() as f: print(os.path.exists(f.name))",
        "hi\nTrue\n",
    ),
    Benign(
        "files of its own",
        "from pathlib import Path\nPath('a/b').mkdir(parents=True); Path('a/b/c.txt').write_text('x'); "
        "print([*Path('.').rglob('*.txt')], Path.home(), Path.cwd().is_dir())",
        "[PosixPath('a/b/c.txt')] /tmp True\n",
    ),
    Benign(
        "files beside it",
        "print(open('data/in.txt').read()); import helper; print(helper.double(4))",
        "α\n\n8\n",
        files={"data/in.txt": "α\r\n", "helper.py": "def double(x): return 2 * x"},
    ),
    Benign(
        "databases",
        "import sqlite3\nfor where in (':memory:', 'x.db'):\n    c = sqlite3.connect(where); "
        "c.execute('create table t(a)'); "
        "c.executemany('insert into t values(?)', [(n,) for n in range(10)]); c.commit()\n"
        "    print(c.execute('select sum(a) from t').fetchone())",
        "(45,)\n(45,)\n",
    ),
    Benign(
        "formats",
        "import json, csv, io\nprint(json.dumps({'a': [1, None, 1.5]}), list(csv.reader(io.StringIO('a,\"b,c\"'))))",
        "{\"a\": [1, null, 1.5]} [['a', 'b,c']]\n",
    ),
    Benign(
        "numbers",
        "from decimal import Decimal, getcontext\nfrom fractions import Fraction\n"
        "import math, statistics\ngetcontext().prec = 30\n"
        "print(Decimal(1) / 7, Fraction(1, 3) + Fraction(1, 6), math.comb(50, 25), statistics.median([3, 1, 2]))",
        "0.142857142857142857142857142857 1/2 126410606437752 2\n",
    ),
    Benign(
        "chance with a seed",
        "import random\nrandom.seed(1); a = random.random(); random.seed(1); "
        "print(a == random.random(), random.Random('x').randint(1, 10 ** 6) == random.Random('x').randint(1, 10 ** 6))",
        "True True\n",
    ),
    Benign(
        "hashes",
        "import hashlib, zlib, base64, uuid\n"
        "print(hashlib.sha256(b'x').hexdigest()[:8], zlib.crc32(b'y'), "
        "base64.b64encode(b'hi'), len(str(uuid.uuid4())))",
        "2d711642 4225443349 b'aGk=' 36\n",
    ),
    Benign(
        "compression",
        "import gzip, lzma, bz2\n"
        "print(all(m.decompress(m.compress(b'x' * 1000)) == b'x' * 1000 for m in (gzip, lzma, bz2)))",
        "True\n",
    ),
    Benign("c library", "import ctypes\nprint(ctypes.CDLL(None).abs(-5), ctypes.sizeof(ctypes.c_int))", "5 4\n"),
    Benign(
        "containers",
        "import heapq, bisect, collections, functools, itertools, string\nh = [3, 1, 2]; "
        "heapq.heapify(h)\n@functools.lru_cache(None)\n"
        "def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\n"
        "print(heapq.heappop(h), bisect.bisect([1, 3], 2), collections.Counter('aab').most_common(1), fib(90), "
        "''.join(itertools.islice(string.ascii_letters, 3)))",
        "1 1 [('a', 2)] 2880067194370816120 abc\n",
    ),
    Benign(
        "regular expressions",
        "import re\nprint(re.sub(r'(?P<a>\\w)\\w', r'\\g<a>', 'abcd'), re.findall(r'\\d+', 'a1b22'))",
        "ac ['1', '22']\n",
    ),
    Benign(
        "languages of the place",
        "import locale\nlocale.setlocale(locale.LC_ALL, ''); "
        "print(locale.getpreferredencoding(), locale.format_string('%d', 1000, grouping=True))",
        "UTF-8 1000\n",
    ),
    Benign(
        "times",
        "import datetime, time, calendar\n"
        "print(datetime.date(2024, 2, 29) + datetime.timedelta(366), calendar.isleap(2024), time.gmtime(0).tm_year)",
        "2025-03-01 True 1970\n",
    ),
    Benign(
        "documentation tests",
        "def f(x):\n    '''\n    >>> f(2)\n    4\n    '''\n    return x * x\nimport doctest\nprint(doctest.testmod())",
        "TestResults(failed=0, attempted=1)\n",
    ),
    Benign(
        "unit tests",
        "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): self.assertEqual(1, 1)\n"
        "    def test_b(self): self.assertEqual(1, 2)\nunittest.main()",
        "",
        code=1,
        stderr=("FAIL: test_b", "Ran 2 tests", "FAILED (failures=1)\n"),
    ),
    Benign(
        "log",
        "import logging\nlogging.basicConfig(format='%(levelname)s %(message)s'); logging.warning('careful')",
        "",
        stderr=("WARNING careful\n",),
    ),
    Benign("warnings", "import warnings\nwarnings.warn('old')", "", stderr=("program.py:2: UserWarning: old\n",)),
    Benign(
        "tracebacks",
        "import traceback\ntry: 1 / 0\nexcept ZeroDivisionError: print(traceback.format_exc().splitlines()[-1])",
        "ZeroDivisionError: division by zero\n",
    ),
    Benign(
        "arguments of commands",
        "import argparse\np = argparse.ArgumentParser(); p.add_argument('--n', type=int, default=3); "
        "print(p.parse_args().n)",
        "3\n",
    ),
    Benign(
        "arrays",
        "import numpy as np\na = np.arange(12.0).reshape(3, 4); "
        "print((a @ a.T).trace(), np.linalg.det(np.eye(3)), np.random.default_rng(0).integers(10) < 10)",
        "506.0 1.0 True\n",
    ),
    Benign(
        "pipes and sockets",
        "import os, socket, selectors\nr, w = os.pipe(); os.write(w, b'x'); print(os.read(r, 1))\n"
        "a, b = socket.socketpair(); a.send(b'y'); print(b.recv(1))\ns = selectors.DefaultSelector(); "
        "s.register(b, 1); print(s.select(0))",
        "b'x'\nb'y'\n[]\n",
    ),
    Benign(
        "sockets by name",
        "import socket, threading\ns = socket.socket(socket.AF_UNIX); s.bind('x.sock'); s.listen()\n"
        "c = socket.socket(socket.AF_UNIX); c.connect('x.sock'); c.send(b'z'); "
        "print(s.accept()[0].recv(1))",
        "b'z'\n",
    ),
    Benign(
        "who and where",
        "import os, sys, platform, getpass\n"
        "print(os.getpid() > 1, os.getuid() > 0, sys.platform, platform.python_implementation(), "
        "os.cpu_count() > 0, os.environ['HOME'], getpass.getuser())",
        "True True linux CPython True /tmp sandbox\n",
    ),
    Benign(
        "garbage",
        "import gc, weakref\nclass A: pass\na = A(); r = weakref.ref(a); a.me = a; del a; gc.collect(); "
        "print(r())\nweakref.finalize(A, print, 'x')",
        "None\nx\n",
    ),
    Benign(
        "objects that print at the end",
        "import contextlib\n@contextlib.contextmanager\ndef c():\n    print('in'); yield; print('out')\n"
        "with c(): print('body')",
        "in\nbody\nout\n",
    ),
]
