"""Translation of statements about exceptions: try, raise and assert."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable
from typing import Any

from .scopes import Scope, name_writer
from .statement_nodes import STATEMENTS, Statement, translate_block
from .targets import translate_deletion
from .translating import do_nothing, translate_expression, translate_self_charging
from .values import Builtin, Frame, call_function


def _assert(node: ast.Assert, scope: Scope) -> Statement:
    test, cost = translate_expression(node.test, scope)
    message = translate_self_charging(node.msg, scope) if node.msg is not None else None

    def run(frame: Frame) -> None:
        if not test(frame):
            raise AssertionError(*(() if message is None else (message(frame),)))

    return run, 1 + cost


def _raise(node: ast.Raise, scope: Scope) -> Statement:
    meter = scope.meter
    if node.exc is None:

        def again(frame: Frame) -> None:
            if not meter.handled:
                raise RuntimeError("No active exception to reraise")
            raise meter.handled[-1]

        return again, 1
    value, cost = translate_expression(node.exc, scope)

    def run(frame: Frame) -> None:
        error = value(frame)
        if type(error) is Builtin and error.kind is not None:
            error = call_function(meter, error, [])
        if not isinstance(error, Exception):
            raise TypeError("exceptions must derive from BaseException")
        raise error

    return run, 1 + cost


def _try(node: ast.Try, scope: Scope) -> Statement:
    body, other = translate_block(node.body, scope), translate_block(node.orelse, scope) if node.orelse else do_nothing
    handlers = [_handler(handler, scope) for handler in node.handlers]

    def run_guarded(frame: Frame) -> Any:
        try:
            signal = body(frame)
        except Exception as error:
            for handles in handlers:
                found = handles(frame, error)
                if found is not None:
                    return found[0]
            raise
        return other(frame) if signal is None else signal

    if not node.finalbody:
        return run_guarded, 1
    final = translate_block(node.finalbody, scope)

    def run(frame: Frame) -> Any:
        try:
            signal = run_guarded(frame)
        except Exception:
            last = final(frame)
            if last is not None:
                return last
            raise
        last = final(frame)
        return signal if last is None else last

    return run, 1


def _handler(node: ast.ExceptHandler, scope: Scope) -> Callable[[Frame, Exception], Any]:
    """Translate a handler. It returns None if it does not match, else a 1-tuple with the signal of its body."""
    matches, body = _matching(node, scope), translate_block(node.body, scope)
    name, meter = node.name, scope.meter
    keep = name_writer(scope, name) if name else None
    forget = translate_deletion(ast.Name(name), scope) if name else None

    def run(frame: Frame, error: Exception) -> Any:
        if not matches(frame, error):
            return None
        if keep is not None:
            keep(frame, error)
        meter.handled.append(error)
        try:
            return (body(frame),)
        finally:
            meter.handled.pop()
            if forget is not None:
                with contextlib.suppress(NameError):
                    forget(frame)

    return run


def _matching(node: ast.ExceptHandler, scope: Scope) -> Callable[[Frame, Exception], bool]:
    """Translate the test whether a handler matches an exception."""
    if node.type is None:
        return lambda frame, error: True
    kinds = translate_self_charging(node.type, scope)

    def run(frame: Frame, error: Exception) -> bool:
        wanted = kinds(frame)
        for kind in wanted if type(wanted) is tuple else (wanted,):
            if type(kind) is not Builtin or kind.kind is None or not issubclass(kind.kind, Exception):
                raise TypeError("catching classes that do not inherit from BaseException is not allowed")
            if isinstance(error, kind.kind):
                return True
        return False

    return run


STATEMENTS.update({ast.Try: _try, ast.Raise: _raise, ast.Assert: _assert})
