"""Programs that are not trusted, run step by step in the sandbox: values, and the steps that they take.

The interpreter of `counting` is what runs in the sandbox; the program is data to it. So neither the program nor a bug
of the interpreter does harm, and a program cannot change what is counted.
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

# Of the interpreter, each after those that it imports.
MODULES = (
    *("meter", "formatting", "values", "operators", "comparisons", "items", "sorting", "text_methods", "methods"),
    *("functions", "mathematics", "iterators", "searching", "modules", "scopes"),
    *("translating", "targets", "expression_nodes", "call_nodes", "comprehensions", "statement_nodes", "exceptions"),
    *("definitions", "counted_program"),
)
# Makes the modules of what this process has translated, or else, where that is another Python, of their text.
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


def measure(text, function, cases):
    return [package.counted_program.measure(text, function, *case) for case in cases]
"""


class Measured(NamedTuple):
    """What became of one call: its value and steps, or why there is none.

    Attributes:
        error: "" where there is a value; or else `WORK`, `UNCOUNTED`, or the name of an exception.
        said: more of that, in words.
    """

    value: Any = None
    steps: int = 0
    error: str = ""
    said: str = ""


def measured(
    program: str, function: str, cases: Sequence[tuple[Sequence[Any], int]], limits: Limits, backend: str = "local"
) -> list[Measured] | None:
    """Call a function of a program, each time afresh.

    Args:
        program: its text.
        function: the function's name.
        cases: arguments of a call (plain data), and the steps that it may take at most.
        limits: of all calls together.
        backend: the sandbox, by its name in `sandbox.BACKENDS`.

    Returns:
        what became of each call, or None where the sandbox failed.
    """
    call = Call("measure", [program, function, [list(case) for case in cases]], limits.seconds)
    result = run(_boot(), limits=limits, calls=[call], backend=backend)
    if not result.valid:
        return None
    (answer,) = result.values
    if answer.error:
        # The interpreter itself came to an end: by time, memory, or a value that is no plain data.
        return [Measured(error="failed", said=answer.error)] * len(cases)
    return [
        Measured(error=error, said=value) if error else Measured(value, steps) for error, value, steps in answer.value
    ]


@functools.cache
def _boot() -> str:
    """The program that makes the interpreter."""
    folder = Path(counting.__file__).parent
    texts = [(name, (folder / f"{name}.py").read_text(encoding="utf-8")) for name in MODULES]
    codes = [marshal.dumps(compile(text, name, "exec", dont_inherit=True, optimize=2)) for name, text in texts]
    packed = base64.b64encode(zlib.compress(marshal.dumps((texts, codes), 4))).decode()
    return _BOOT.format(packed=packed, magic=importlib.util.MAGIC_NUMBER, implementation=sys.implementation.name)


__all__ = ["MODULES", "UNCOUNTED", "WORK", "Measured", "measured"]
