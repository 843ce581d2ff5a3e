"""Runs of small Python functions in this process, with operations counted as in `counting` and limited.

A function's body is given as blocks: groups of statements, one for each step of the specification. Compiled blocks are
cached. So the expected values of tests need no sandbox, and an endless loop costs little.

The guards count operations; they are not meant to stop an attacker. Only programs of this package run here, some with
a gap filled by a single word of an answer; every other answer runs in the sandbox.
"""

from __future__ import annotations

import ast
import functools
import threading
from collections.abc import Iterable, Mapping, Sequence
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from ..counting.guards import make_guards
from ..counting.meter import UNCOUNTED, Meter, OutOfWork, Uncounted
from ..counting.rewriting import ProgramRewriter
from ..counting.rewriting_expressions import PLACE, load, no_parameters

# Maximum steps of one call.
MOST_WORK = 40_000
# The error of a call that exceeds its work.
ENDLESS = "endless"
# A block returns this value unless it returns from the function.
_END = object()


class CallOutcome(NamedTuple):
    """The value of a call, or the name of the error that ended it: `ENDLESS` for too much work, `UNCOUNTED` for a part
    of Python that is not supported."""

    value: Any
    error: str


class _Machine(threading.local):
    """The meter of a thread, with the guards that charge it."""

    def __init__(self) -> None:
        self.meter = Meter()
        self.guards = {**make_guards(self.meter), ".end": _END}

    def begin(self, arguments: Mapping[str, Any], most: int) -> dict[str, Any]:
        """Return the variables at the start of a call."""
        self.meter.begin(most)
        return {"__builtins__": self.guards, **{name: _copy_list(value) for name, value in arguments.items()}}


_MACHINE = _Machine()


def run_blocks(blocks: Iterable[str], arguments: Mapping[str, Any], most: int = MOST_WORK) -> CallOutcome:
    """Run a function's body on arguments given by name. The value is None if the body does not return.

    Args:
        blocks: the statements of the body.
        arguments: the arguments by name.
        most: the steps after which the call ends with the error `ENDLESS`.

    Raises:
        SyntaxError: a block is not valid Python.
        Uncounted: a block has a statement or an expression that is not supported.
    """
    names = _MACHINE.begin(arguments, most)
    for code, texts in [_compile_block(block) for block in blocks]:
        names.update(texts)
        try:
            value = FunctionType(code, names)()
        except OutOfWork:
            return CallOutcome(None, ENDLESS)
        except Uncounted:
            return CallOutcome(None, UNCOUNTED)
        except Exception as problem:
            return CallOutcome(None, type(problem).__name__)
        if value is not _END:
            return CallOutcome(value, "")
    return CallOutcome(None, "")


def is_supported(block: str) -> bool:
    """Return True if a block is valid Python of which `run_blocks` supports every part."""
    try:
        _compile_block(block)
    except (SyntaxError, ValueError, Uncounted):
        return False
    return True


def trace_states(blocks: Sequence[str], results: Sequence[str], arguments: Mapping[str, Any]) -> list[Any]:
    """Run the blocks and return the value of each block's result variable after it, up to the block that returns.

    Args:
        blocks: the statements of a body.
        results: the name of each block's result variable; "" for a block without one, whose value is then None.
        arguments: the arguments by name.
    """
    names = _MACHINE.begin(arguments, MOST_WORK)
    found = []
    for block, result in zip(blocks, results):
        code, texts = _compile_block(block)
        names.update(texts)
        if FunctionType(code, names)() is not _END:
            break
        found.append(_copy_list(names[result]) if result else None)
    return found


@functools.lru_cache(maxsize=16_384)
def _compile_block(block: str) -> tuple[CodeType, dict[str, str]]:
    """Compile a block as a function whose variables are all global. Return its code, and its long texts by the global
    names that stand for them."""
    rewriter = ProgramRewriter(tree := ast.parse(block))
    body = rewriter.rewrite_block(tree.body)
    if rewriter.bound:
        body.insert(0, ast.Global([*rewriter.bound], **PLACE))
    body.append(ast.Return(load(".end"), **PLACE))
    tree.body = [ast.FunctionDef("block", no_parameters(), body, [], **PLACE)]
    module = compile(tree, "block.py", "exec", dont_inherit=True)
    return next(one for one in module.co_consts if isinstance(one, CodeType)), rewriter.texts


def _copy_list(value: Any) -> Any:
    return list(value) if isinstance(value, list) else value
