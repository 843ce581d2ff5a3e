"""An interpreter of small Python functions, with bounded work and no access to anything outside.

A program is made of blocks: pieces of the text of a function's body, one for each step of the task. A block is compiled
to closures once, and these are cached. So the expected values of tests need neither ``exec`` nor a sandbox, an endless
loop costs little, and the work of a program can be counted.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .interpreter_expressions import (
    LEFT,
    Endless,
    Names,
    compile_assignment,
    compile_expression,
    find_operator,
    no_value,
)

# Returns None, _BREAK, _CONTINUE, or a tuple of one with the value that the function returns.
_Statement = Callable[[Names], Any]

# Maximum statements and turns of loops in one call.
MOST_WORK = 5_000
_BREAK, _CONTINUE = object(), object()
# The error of a call that exceeds its work.
ENDLESS = "endless"


class CallOutcome(NamedTuple):
    """The value of a call, or the name of the error that ended it (`ENDLESS` for too much work); and its work."""

    value: Any
    error: str
    work: int


def run_blocks(blocks: Iterable[str], arguments: Mapping[str, Any], most: int = MOST_WORK) -> CallOutcome:
    """Run a function's body on arguments given by name. The value is None if the body does not return.

    Args:
        blocks: the statements of the body.
        arguments: the arguments by name.
        most: the work (statements and turns of loops) after which the call ends with the error `ENDLESS`.

    Raises:
        ValueError: the body uses a part of Python that is not supported here.
    """
    names: Names = {name: _copy_list(value) for name, value in arguments.items()}
    names[LEFT] = most
    error, value = "", None
    try:
        for block in blocks:
            signal = _compile_block(block)(names)
            if signal is not None:
                value = signal[0]
                break
    except Endless:
        error = ENDLESS
    except (ArithmeticError, AttributeError, LookupError, NameError, TypeError, ValueError) as problem:
        error = type(problem).__name__
    return CallOutcome(value, error, most - names[LEFT])


def is_supported(block: str) -> bool:
    """Return True if this interpreter can run a block."""
    try:
        _compile_block(block)
    except (SyntaxError, ValueError):
        return False
    return True


def trace_states(blocks: Sequence[str], results: Sequence[str], arguments: Mapping[str, Any]) -> list[Any]:
    """Run the blocks and return the value of each block's result variable after it, up to the block that returns.

    Args:
        blocks: the statements of a body.
        results: the name of each block's result variable; "" for a block without one, whose value is then None.
        arguments: the arguments by name.
    """
    names: Names = {name: _copy_list(value) for name, value in arguments.items()}
    names[LEFT] = MOST_WORK
    found = []
    for block, result in zip(blocks, results):
        if _compile_block(block)(names) is not None:
            break
        found.append(_copy_list(names[result]) if result else None)
    return found


@functools.lru_cache(maxsize=16_384)
def _compile_block(block: str) -> _Statement:
    return _compile_body(ast.parse(block).body)


def _copy_list(value: Any) -> Any:
    return list(value) if isinstance(value, list) else value


# Statements.


def _compile_body(statements: Sequence[ast.stmt]) -> _Statement:
    runs = []
    for statement in statements:
        compile_statement: Any = _STATEMENTS.get(type(statement))
        if compile_statement is None:
            raise ValueError(f"statement {type(statement).__name__} is not known.")
        runs.append(compile_statement(statement))

    def run(names: Names) -> Any:
        for one in runs:
            names[LEFT] -= 1
            signal = one(names)
            if signal is not None:
                return signal
        return None

    return run


def _assign(node: ast.Assign) -> _Statement:
    store, value = compile_assignment(node.targets[0]), compile_expression(node.value)
    return lambda names: store(names, value(names))


def _augment(node: ast.AugAssign) -> _Statement:
    load = compile_expression(ast.parse(ast.unparse(node.target), mode="eval").body)
    store, value, apply = compile_assignment(node.target), compile_expression(node.value), find_operator(node.op)
    return lambda names: store(names, apply(load(names), value(names)))


def _if(node: ast.If) -> _Statement:
    test, body, other = compile_expression(node.test), _compile_body(node.body), _compile_body(node.orelse)
    return lambda names: body(names) if test(names) else other(names)


def _for(node: ast.For) -> _Statement:
    store, items, body = compile_assignment(node.target), compile_expression(node.iter), _compile_body(node.body)

    def run(names: Names) -> Any:
        for item in items(names):
            store(names, item)
            signal = body(names)
            if names[LEFT] < 0:
                raise Endless
            if signal is _BREAK:
                break
            if signal is not None and signal is not _CONTINUE:
                return signal
        return None

    return run


def _while(node: ast.While) -> _Statement:
    test, body = compile_expression(node.test), _compile_body(node.body)

    def run(names: Names) -> Any:
        while test(names):
            signal = body(names)
            if names[LEFT] < 0:
                raise Endless
            if signal is _BREAK:
                break
            if signal is not None and signal is not _CONTINUE:
                return signal
        return None

    return run


def _return(node: ast.Return) -> _Statement:
    value = compile_expression(node.value) if node.value is not None else no_value
    return lambda names: (value(names),)


def _evaluate(node: ast.Expr) -> _Statement:
    value = compile_expression(node.value)

    def run(names: Names) -> None:
        value(names)

    return run


_STATEMENTS: dict[type[ast.stmt], Callable[..., _Statement]] = {
    ast.Assign: _assign,
    ast.AugAssign: _augment,
    ast.If: _if,
    ast.For: _for,
    ast.While: _while,
    ast.Return: _return,
    ast.Expr: _evaluate,
    ast.Pass: lambda node: no_value,
    ast.Break: lambda node: lambda names: _BREAK,
    ast.Continue: lambda node: lambda names: _CONTINUE,
}
