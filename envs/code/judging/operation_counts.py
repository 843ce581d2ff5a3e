"""Return values and operation counts of untrusted programs: the package `counting`, run in the sandbox.

The guards of `counting`, functions in place of Python's operations, keep a program from changing its count; the sandbox
contains a program that gets past the guards.
"""

from __future__ import annotations

import base64
import functools
import importlib.util
import marshal
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...sandbox import Call, Limits, run
from .. import counting
from ..counting.meter import UNCOUNTED, WORK

# Imports the package from the code that this process compiled or, under another version of Python, from its text.
_BOOT = """
import base64, marshal, sys, zlib
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import MAGIC_NUMBER

texts, codes = marshal.loads(zlib.decompress(base64.b64decode({packed!r})))
same = MAGIC_NUMBER == {magic!r} and sys.implementation.name == {implementation!r}


class Package:
    def find_spec(name, path=None, target=None):
        return ModuleSpec(name, Package, is_package=name == "counting") if name in texts else None

    def create_module(spec):
        return None

    def exec_module(module):
        name = module.__name__
        exec(marshal.loads(codes[name]) if same else compile(texts[name], name, "exec"), vars(module))


sys.meta_path.insert(0, Package)
from counting.counted_program import count_call


def count_calls(text, function, cases):
    return [count_call(text, function, *case) for case in cases]
"""


class CountedCall(NamedTuple):
    """The outcome of one call: its value and its operations, or an error.

    Attributes:
        value: the value that the function returned.
        steps: the number of operations of the call.
        error: "" for success; else `WORK` (more than the maximum), `UNCOUNTED` (an unsupported part of Python),
            "failed" (the process was ended), or the name of an exception.
        message: the reason of the error; "" for success.
    """

    value: Any = None
    steps: int = 0
    error: str = ""
    message: str = ""


def count_operations(
    program: str, function: str, cases: Sequence[tuple[Sequence[Any], int]], limits: Limits, backend: str = "local"
) -> list[CountedCall] | None:
    """Call a function of a program and count the operations of each call. The program is restarted for each call.

    Args:
        program: the text of the program.
        function: the function's name.
        cases: (arguments, maximum number of operations) of each call; arguments are plain data.
        limits: the limits of all calls together.
        backend: the sandbox, by its name in `sandbox.BACKENDS`.

    Returns:
        the outcome of each call, or None if the sandbox failed.
    """
    call = Call("count_calls", [program, function, [list(case) for case in cases]], limits.seconds)
    result = run(_boot(), limits=limits, calls=[call], backend=backend)
    if not result.valid:
        return None
    (answer,) = result.values
    if answer.error:
        # The process was ended by time, memory, or a value that is not plain data.
        return [CountedCall(error="failed", message=answer.error)] * len(cases)
    return [
        CountedCall(error=error, message=value) if error else CountedCall(value, steps)
        for error, value, steps in answer.value
    ]


@functools.cache
def _boot() -> str:
    """Return the program that, in the sandbox, imports `counting` and defines ``count_calls``."""
    folder = Path(counting.__file__).parent
    texts = {f"counting.{path.stem}": path.read_text(encoding="utf-8") for path in folder.glob("*.py")}
    texts["counting"] = texts.pop("counting.__init__")
    codes = {
        name: marshal.dumps(compile(text, name, "exec", dont_inherit=True, optimize=2)) for name, text in texts.items()
    }
    packed = base64.b64encode(zlib.compress(marshal.dumps((texts, codes), 4))).decode()
    return _BOOT.format(packed=packed, magic=importlib.util.MAGIC_NUMBER, implementation=sys.implementation.name)


__all__ = ["UNCOUNTED", "WORK", "CountedCall", "count_operations"]
