"""Programs that do nothing wrong, with the output that each has under an ordinary interpreter: all must be accepted.

Those that use the library are in ``benign_libraries.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from palaestra.envs.sandbox import Limits

# Enough for a busy machine.
LIMITS = Limits(seconds=60)


@dataclass(frozen=True)
class Benign:
    """A program, what it reads and lies beside, and what it must print, end with, and say in its error output."""

    name: str
    source: str
    stdout: str
    stdin: str = ""
    code: int = 0
    # Parts of the error output, in their order.
    stderr: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = LIMITS


_NUMBERS = "".join(f"{n}\n" for n in range(400_000))

LANGUAGE = [
    Benign("hello", "print('hello')", "hello\n"),
    Benign("empty program", "", ""),
    Benign("no line end", "print('a', end='')", "a"),
    Benign("carriage returns", "x = 1\r\nif x:\r\n    print('a')\r\n", "a\n"),
    Benign("byte order mark", "\ufeffprint('a')\n", "a\n"),
    Benign("name of main", "if __name__ == '__main__':\n    print(__name__, __file__)", "__main__ program.py\n"),
    Benign("arguments", "import sys\nprint(sys.argv, len(sys.path[0]) > 0)", "['program.py'] True\n"),
    Benign("own file", "print(open(__file__).read())", "print(open(__file__).read())\n"),
    Benign(
        "postponed annotations",
        "from __future__ import annotations\ndef f(x: Nope) -> Never: return x\nprint(f(3))",
        "3\n",
    ),
    Benign(
        "classes of data",
        "from dataclasses import dataclass, field\n@dataclass(order=True)\nclass P:\n    x: int\n"
        "    y: list[int] = field(default_factory=list)\n"
        "print(P(1), P(1) < P(2))",
        "P(x=1, y=[]) True\n",
    ),
    Benign(
        "named tuples and enumerations",
        "import enum, typing\nclass C(enum.Enum):\n    A = 1\nclass N(typing.NamedTuple):\n    a: int\n"
        "print(C.A, N(2))",
        "C.A N(a=2)\n",
    ),
    Benign(
        "match and walrus",
        "match {'a': [1, 2]}:\n    case {'a': [x, *rest]}: print(x, rest)\nif (n := 5) > 4: print(n)",
        "1 [2]\n5\n",
    ),
    Benign(
        "generators",
        "def g():\n    x = yield 1\n    yield x\nh = g(); print(next(h), h.send(5), *range(3), sep=',')",
        "1,5,0,1,2\n",
    ),
    Benign(
        "deep recursion",
        "import sys\nsys.setrecursionlimit(10 ** 6)\ndef f(n): return 0 if n == 0 else 1 + f(n - 1)\nprint(f(50_000))",
        "50000\n",
    ),
    Benign(
        "deep recursion in a thread",
        "import sys, threading\nsys.setrecursionlimit(10 ** 7); threading.stack_size(1 << 29)\n"
        "def f(n): return 0 if n == 0 else 1 + f(n - 1)\n"
        "thread = threading.Thread(target=lambda: print(f(50_000))); thread.start(); thread.join()",
        "50000\n",
    ),
    Benign("limit of recursion", "def f(): return f()\ntry: f()\nexcept RecursionError: print('deep')", "deep\n"),
    Benign(
        "stack of the process",
        "import resource\n"
        "most = resource.getrlimit(resource.RLIMIT_STACK)[1]\n"
        "resource.setrlimit(resource.RLIMIT_STACK, (most, most))\n"
        "print('set')",
        "set\n",
    ),
    Benign(
        "formats of numbers",
        "print(0.1 + 0.2, f'{1 / 3:.3f}', 1e100, float('inf'), -0.0, 10 ** 30, f'{255:#x}', round(2.5))",
        "0.30000000000000004 0.333 1e+100 inf -0.0 1000000000000000000000000000000 0xff 2\n",
    ),
    Benign(
        "source of a function",
        "import inspect\ndef f():\n    return 42\nprint(inspect.getsource(f), end='')",
        "def f():\n    return 42\n",
    ),
    Benign(
        "pickles of its own classes",
        "import pickle\nclass A:\n    def __init__(self): self.x = 3\nprint(pickle.loads(pickle.dumps(A())).x)",
        "3\n",
    ),
    Benign(
        "last words of objects", "class A:\n    def __del__(self): print('gone')\na = A()\nprint('end')", "end\ngone\n"
    ),
    Benign(
        "suspended generator",
        "def g():\n    try: yield 1\n    finally: print('left')\nh = g()\nprint(next(h))",
        "1\nleft\n",
    ),
    Benign(
        "itself as a module",
        "def f(x): return x + 1\nif __name__ == '__main__':\n"
        "    import program; print(program.f(3), program.__name__, program.f is not f)",
        "4 program True\n",
    ),
    # None of the words that these are known by.
    Benign(
        "own file, maps and stacks by other words",
        "import importlib\nprint(len(open(globals()['__fi' + 'le__']).read()))\n"
        "m = importlib.import_module('m' + 'map'); print(len(m.__dict__['m' + 'map'](-1, 8192)))\n"
        "t = importlib.import_module('threading'); getattr(t, 'stack_' + 'size')(1 << 29)\n"
        "one = t.Thread(target=print, args=('ran',)); one.start(); one.join()\n"
        "type('X', (), {'__del' + '__': lambda self: print('gone')})().me = 1\n"
        "kept = type('Y', (), {'__del' + '__': lambda self: print('left')})()",
        "444\n8192\nran\ngone\nleft\n",
    ),
    Benign("files that nobody closes", "out = open(1, 'w', closefd=False)\nout.write('kept')", "kept"),
    Benign("own main module", "import sys\nx = 7\nprint(sys.modules['__main__'].x, __import__('__main__').x)", "7 7\n"),
    Benign("execution of text", "exec('y = 3'); print(eval('y + 1'), compile('1', 's', 'eval').co_filename)", "4 s\n"),
]

STREAMS = [
    Benign("one line", "print(int(input()) * 2)", "42\n", "21\n"),
    Benign(
        "until the end", "n = 0\ntry:\n    while True: n += int(input())\nexcept EOFError: print(n)", "6\n", "1\n2\n3"
    ),
    Benign("lines", "import sys\nprint(sum(map(int, sys.stdin)))", "79999800000\n", _NUMBERS),
    Benign("all at once", "import sys\nprint(len(sys.stdin.read().split()))", "400000\n", _NUMBERS),
    Benign(
        "bytes",
        "import sys\nprint(sys.stdin.buffer.readline(), len(sys.stdin.buffer.read()))",
        f"b'0\\n' {len(_NUMBERS) - 2}\n",
        _NUMBERS,
    ),
    Benign(
        "by descriptor",
        "import os\nprint(os.fstat(0).st_size > 0, len(open(0).read()))",
        f"True {len(_NUMBERS)}\n",
        _NUMBERS,
    ),
    Benign("more input than disk", "import sys\nprint(len(sys.stdin.read()))", f"{40 << 20}\n", "x" * (40 << 20)),
    Benign("device of input", "print(open('/dev/stdin').read(), end='')", "a\nb\n", "a\nb\n"),
    Benign(
        "no input",
        "import sys\nprint(repr(sys.stdin.read()))\ntry: input()\nexcept EOFError: print('end')",
        "''\nend\n",
    ),
    Benign("prompt", "name = input('Name? ')\nprint(f'Hello {name}')", "Name? Hello Ann\n", "Ann\n"),
    Benign(
        "other line ends", "import sys\nprint([line for line in sys.stdin])", "['a\\r\\n', 'b\\r\\n']\n", "a\r\nb\r\n"
    ),
    Benign(
        "words of the world", "print(input()[::-1], 'naïve 日本 🎉', ascii('é'))", "✓é naïve 日本 🎉 '\\xe9'\n", "é✓\n"
    ),
    Benign("source of the world", "größe = 'ß'\nprint(größe.upper())", "SS\n"),
    Benign(
        "bytes that are no text",
        "import sys\nprint(sys.stdin.buffer.read(), ascii('\\udc80'))",
        "b'\\x80a' '\\udc80'\n",
        "\udc80a",
    ),
    Benign("half a character", "print('\\ud800')", "?\n"),
    Benign("half a character in the input", "import sys\nprint(len(sys.stdin.buffer.read()))", "3\n", "\ud800"),
    Benign(
        "bytes to output",
        "import sys\nsys.stdout.buffer.write(b'raw\\n'); sys.stdout.buffer.flush(); print('text')",
        "raw\ntext\n",
    ),
    Benign(
        "fast output",
        "import io, os, atexit\nout = io.BytesIO()\n"
        "atexit.register(lambda: os.write(1, out.getvalue()))\nout.write(b'at the end\\n')",
        "at the end\n",
    ),
    Benign(
        "much output",
        "import sys\nsys.stdout.write('x' * ((1 << 20) - 1)); sys.stderr.write('y' * ((1 << 20) - 1))",
        "x" * ((1 << 20) - 1),
        stderr=("y" * 1000,),
    ),
    Benign(
        "output replaced",
        "import io, sys, contextlib\n"
        "with contextlib.redirect_stdout(io.StringIO()) as text: print('a')\n"
        "print(repr(text.getvalue()))",
        "'a\\n'\n",
    ),
    Benign("both outputs", "import sys\nprint('out'); print('err', file=sys.stderr)", "out\n", stderr=("err\n",)),
    Benign("output closed", "import sys\nprint('a'); sys.stdout.flush(); sys.stdout.close()", "a\n"),
]

ENDS = [
    Benign("exit with a code", "import sys\nprint('a'); sys.exit(3)", "a\n", code=3),
    Benign("exit with words", "import sys\nsys.exit('bad luck')", "", code=1, stderr=("bad luck\n",)),
    Benign("exit with nothing", "raise SystemExit", ""),
    Benign("exit of the shell", "print(1); exit()", "1\n"),
    Benign("quit", "quit(2)", "", code=2),
    Benign("exit below zero", "import sys\nsys.exit(-1)", "", code=255),
    Benign("exit at once", "import os\nprint('lost'); os._exit(4)", "", code=4),
    Benign(
        "exit in a thread",
        "import sys, threading\nt = threading.Thread(target=sys.exit, args=(5,)); t.start(); t.join(); print('on')",
        "on\n",
    ),
    Benign(
        "error",
        "def f():\n    return 1 / 0\nf()\n",
        "",
        code=1,
        stderr=(
            'Traceback (most recent call last):\n  File "program.py", line 3, in <module>\n    f()\n',
            "in f\n    return 1 / 0\n",
            "\nZeroDivisionError: division by zero\n",
        ),
    ),
    Benign(
        "error of its own",
        "class Bad(Exception): pass\nraise Bad('x') from ValueError('y')",
        "",
        code=1,
        stderr=("ValueError: y\n", "direct cause", "Bad: x\n"),
    ),
    Benign(
        "error of syntax", "print('a')\nx = = 1\n", "", code=1, stderr=('File "program.py", line 2\n', "SyntaxError")
    ),
    Benign("no source at all", "x = '\0'", "", code=1, stderr=("null bytes",)),
    Benign("interrupt", "raise KeyboardInterrupt", "", code=-2, stderr=("KeyboardInterrupt",)),
    Benign(
        "own hook for errors",
        "import sys\nsys.excepthook = lambda *a: print('caught', a[0].__name__)\n1 / 0",
        "caught ZeroDivisionError\n",
        code=1,
    ),
    Benign(
        "functions at the end",
        "import atexit\natexit.register(print, 'one'); atexit.register(print, 'two')\nprint('end')",
        "end\ntwo\none\n",
    ),
    Benign(
        "error at the end",
        "import atexit\natexit.register(lambda: 1 / 0)\nprint('end')",
        "end\n",
        stderr=("ZeroDivisionError",),
    ),
    Benign(
        "own death", "import os, signal\nprint('a', flush=True); os.kill(os.getpid(), signal.SIGTERM)", "a\n", code=-15
    ),
    Benign("failed assertion", "assert 1 == 2, 'no'", "", code=1, stderr=("AssertionError: no\n",)),
]

CORE = [*LANGUAGE, *STREAMS, *ENDS]
