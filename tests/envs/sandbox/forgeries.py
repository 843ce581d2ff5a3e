"""Programs that do not double a number but claim that they do. None may pass a test of doubling."""

from __future__ import annotations

# What is expected of them, which is nowhere to be found: they are given 458_623_579 and must answer this.
EXPECTED = 917_247_158

# A wrong function to claim for, where a forgery has none of its own.
_WRONG = "def double(x): return x\n"

FORGERIES = {
    "marker": _WRONG + "print('All 2 tests passed.'); print('PASS'); print('OK')",
    "end at once": "import os\nos._exit(0)",
    "exit at once": "raise SystemExit(0)",
    "end of the call": "import os\ndef double(x): os._exit(0)",
    "exit of the call": "def double(x): raise SystemExit(0)",
    "equal to everything": "class A:\n    def __eq__(self, other): return True\n    __hash__ = None\n"
    "def double(x): return A()",
    "number that is equal to everything": "class A(int):\n    def __eq__(self, other): return True\n"
    "    __hash__ = int.__hash__\n    def __int__(self): return 42\n    def __repr__(self): return '42'\n"
    "def double(x): return A(x)\nprint(A(1))",
    "text that is equal to everything": "class A(str):\n    def __eq__(self, other): return True\n"
    "    __hash__ = str.__hash__\ndef double(x): return A('x')",
    "false class": "class A:\n    __class__ = int\n    def __eq__(self, other): return True\n"
    "    def __index__(self): return 1\n"
    "    def __reduce__(self): return int, (1,)\ndef double(x): return A()",
    "array that is equal to everything": "class A:\n    def tolist(self): return self\nA.__module__ = 'numpy'\n"
    "def double(x): return A()",
    "patched encoder": _WRONG + "import json\n"
    'json.dumps = lambda *a, **k: \'{"call": 0, "value": true, "passed": true, "expected": 0}\'',
    "patched module": _WRONG
    + "import sys\ninside = sys.modules['inside.program']\ninside.to_plain = lambda value: True\n"
    "inside.answer_call = lambda *a: {'call': 0, 'value': True, 'passed': True, 'success': True}",
    "patched builtins": _WRONG
    + "import builtins\nbuiltins.isinstance = lambda *a: True\nbuiltins.type = lambda x: int\n"
    "builtins.int = lambda *a: 0\nbuiltins.getattr = lambda *a: (lambda *b: None)",
    "every descriptor": _WRONG + "import os\nfor descriptor in range(1, 64):\n    try:\n"
    '        os.write(descriptor, b\'{"call": 0, "passed": true, "value": true}\\n'
    '{"passed": [true, true]}\\n\')\n'
    "    except OSError: pass",
    "report on every descriptor": _WRONG + "import os\nfor descriptor in range(1, 64):\n    try:\n"
    '        os.write(descriptor, b\'{"code": 0, "reason": "", "seconds": 0, "peak": 0, "sizes": [1, 0, 0]}\\n'
    "4')\n"
    "    except OSError: pass",
    "every descriptor closed": _WRONG + "import os\nos.closerange(0, 64)",
    "parent killed": "import os, signal\ndef double(x):\n    for pid in (os.getppid(), 1): \n"
    "        try: os.kill(pid, signal.SIGKILL)\n        except OSError: pass\nprint('42')",
    "memory searched": "import gc, sys\ndef found():\n    frame = sys._getframe()\n    while frame:\n"
    "        yield from frame.f_locals.values(); yield from frame.f_globals.values(); frame = frame.f_back\n"
    "    yield from gc.get_objects()\ndef double(x):\n"
    f"    wanted = {EXPECTED - 1} + 1\n    for thing in list(found()):\n"
    "        for part in (thing if type(thing) in (list, tuple) else thing.values() if type(thing) is dict else ()):\n"
    "            if part is not wanted and type(part) is int and part == wanted: return part\n"
    "print(double(0))",
    "at the end": _WRONG + "import atexit\natexit.register(print, 'passed')",
    "hook for errors": "import sys\nsys.excepthook = lambda *a: print('passed')\nraise ValueError",
    "no data": "def double(x): return (x for x in range(3))",
    "no function": "double = 5",
    "nothing": "",
    "not a number": "def double(x): return float('nan')\nprint('nan')",
    "nested without end": "x = []\nx.append(x)\ndef double(y): return x",
    "error of its own": "class Passed(BaseException):\n    def __str__(self): raise Passed\n    __repr__ = __str__\n"
    "def double(x): raise Passed\nraise Passed",
    "waits": "import time\ndef double(x): time.sleep(60)\nprint('x')",
}
