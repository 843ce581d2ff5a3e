"""Small Python functions, run step by step with bounded work and no access to anything.

Programs of this package are made of blocks: the statements of a function's body as text, one step of the task each. A
block is translated to closures once, and these are kept. So the expected outputs of tests need neither ``exec`` nor a
sandbox, a bug that loops for ever costs little, and the work that a program does can be counted.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .interpreter_expressions import LEFT, Endless, Names, assignment, expression, nothing, operation

# Returns None, _BREAK, _CONTINUE, or what the function returns in a tuple of one.
_Statement = Callable[[Names], Any]

# Statements and turns of loops in one call.
MOST_WORK = 5_000
_BREAK, _CONTINUE = object(), object()
# The error of a call that does too much work.
ENDLESS = "endless"


class Outcome(NamedTuple):
    """What a call returned, or the name of the error that ended it (`ENDLESS` for too much work); and the work."""

    value: Any
    error: str
    work: int


def call(blocks: Iterable[str], arguments: Mapping[str, Any], most: int = MOST_WORK) -> Outcome:
    """What a function with this body returns for arguments, given by name; None where it has no return. It is given up
    after so much work.

    Raises:
        ValueError: the body uses something that is not known here.
    """
    names: Names = {name: _copied(value) for name, value in arguments.items()}
    names[LEFT] = most
    error, value = "", None
    try:
        for block in blocks:
            signal = _translated(block)(names)
            if signal is not None:
                value = signal[0]
                break
    except Endless:
        error = ENDLESS
    except (ArithmeticError, AttributeError, LookupError, NameError, TypeError, ValueError) as problem:
        error = type(problem).__name__
    return Outcome(value, error, most - names[LEFT])


def is_known(block: str) -> bool:
    """Whether a block can be run here."""
    try:
        _translated(block)
    except (SyntaxError, ValueError):
        return False
    return True


def states(blocks: Sequence[str], results: Sequence[str], arguments: Mapping[str, Any]) -> list[Any]:
    """What the variables ``results``, one for each block, hold after their blocks, as far as the body gets before it
    returns; None where a block has no result."""
    names: Names = {name: _copied(value) for name, value in arguments.items()}
    names[LEFT] = MOST_WORK
    found = []
    for block, result in zip(blocks, results):
        if _translated(block)(names) is not None:
            break
        found.append(_copied(names[result]) if result else None)
    return found


@functools.lru_cache(maxsize=16_384)
def _translated(block: str) -> _Statement:
    return _body(ast.parse(block).body)


def _copied(value: Any) -> Any:
    return list(value) if isinstance(value, list) else value


# Statements.


def _body(statements: Sequence[ast.stmt]) -> _Statement:
    runs = [_statement(statement) for statement in statements]

    def run(names: Names) -> Any:
        for one in runs:
            names[LEFT] -= 1
            signal = one(names)
            if signal is not None:
                return signal
        return None

    return run


def _statement(node: ast.stmt) -> _Statement:
    translate: Any = _STATEMENTS.get(type(node))
    if translate is None:
        raise ValueError(f"statement {type(node).__name__} is not known.")
    return translate(node)


def _assign(node: ast.Assign) -> _Statement:
    store, value = assignment(node.targets[0]), expression(node.value)
    return lambda names: store(names, value(names))


def _augmented(node: ast.AugAssign) -> _Statement:
    load = expression(ast.parse(ast.unparse(node.target), mode="eval").body)
    store, value, apply = assignment(node.target), expression(node.value), operation(node.op)
    return lambda names: store(names, apply(load(names), value(names)))


def _if(node: ast.If) -> _Statement:
    test, body, other = expression(node.test), _body(node.body), _body(node.orelse)
    return lambda names: body(names) if test(names) else other(names)


def _for(node: ast.For) -> _Statement:
    store, items, body = assignment(node.target), expression(node.iter), _body(node.body)

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
    test, body = expression(node.test), _body(node.body)

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
    value = expression(node.value) if node.value is not None else nothing
    return lambda names: (value(names),)


def _evaluated(node: ast.Expr) -> _Statement:
    value = expression(node.value)

    def run(names: Names) -> None:
        value(names)

    return run


_STATEMENTS: dict[type[ast.stmt], Callable[..., _Statement]] = {
    ast.Assign: _assign,
    ast.AugAssign: _augmented,
    ast.If: _if,
    ast.For: _for,
    ast.While: _while,
    ast.Return: _return,
    ast.Expr: _evaluated,
    ast.Pass: lambda node: nothing,
    ast.Break: lambda node: lambda names: _BREAK,
    ast.Continue: lambda node: lambda names: _CONTINUE,
}
