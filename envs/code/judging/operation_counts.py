"""The values and the operation counts of untrusted programs: the interpreter of `counting`, run in the sandbox.

The program is data to the interpreter, so it cannot change the count, and the sandbox contains bugs of the interpreter.
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

# The modules of the interpreter, each after its imports.
MODULES = (
    *("meter", "formatting", "values", "operators", "comparisons", "items", "sorting", "text_methods", "methods"),
    *("functions", "mathematics", "iterators", "searching", "modules", "scopes"),
    *("translating", "targets", "expression_nodes", "call_nodes", "comprehensions", "statement_nodes", "exceptions"),
    *("definitions", "counted_program"),
)
# Builds the modules from the code that this process compiled or, under another version of Python, from their text.
_BOOT = """
import base64, marshal, sys, types, zlib
from _frozen_importlib_external import MAGIC_NUMBER

package = sys.modules["counting"] = types.ModuleType("counting")
package.__path__ = []
texts, codes = marshal.loads(zlib.decompress(base64.b64decode({packed!r})))
for place, (name, text) in enumerate(texts):
    module = sys.modules["counting." + name] = types.ModuleType("counting." + name)
    module.__package__ = "counting"
    setattr(package, name, module)
    same = MAGIC_NUMBER == {magic!r} and sys.implementation.name == {implementation!r}
    exec(marshal.loads(codes[place]) if same else compile(text, name, "exec"), module.__dict__)


def count_calls(text, function, cases):
    return [package.counted_program.count_call(text, function, *case) for case in cases]
"""


class CountedCall(NamedTuple):
    """The outcome of one call: its value and its operations, or an error.

    Attributes:
        value: the value that the function returned.
        steps: the operations that it took.
        error: "" for success; else `WORK`, `UNCOUNTED`, or the name of an exception.
        message: the reason in a sentence.
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
        program: its text.
        function: the function's name.
        cases: for each call its arguments (plain data) and its maximum number of operations.
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
        # The interpreter itself was ended by time, memory, or a value that is not plain data.
        return [CountedCall(error="failed", message=answer.error)] * len(cases)
    return [
        CountedCall(error=error, message=value) if error else CountedCall(value, steps)
        for error, value, steps in answer.value
    ]


@functools.cache
def _boot() -> str:
    """Write the program that builds the interpreter in the sandbox."""
    folder = Path(counting.__file__).parent
    texts = [(name, (folder / f"{name}.py").read_text(encoding="utf-8")) for name in MODULES]
    codes = [marshal.dumps(compile(text, name, "exec", dont_inherit=True, optimize=2)) for name, text in texts]
    packed = base64.b64encode(zlib.compress(marshal.dumps((texts, codes), 4))).decode()
    return _BOOT.format(packed=packed, magic=importlib.util.MAGIC_NUMBER, implementation=sys.implementation.name)


__all__ = ["MODULES", "UNCOUNTED", "WORK", "CountedCall", "count_operations"]
