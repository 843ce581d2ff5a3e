"""Reading of a data set's ``assert`` statements as tests, from their syntax tree; no statement is ever run.

``assert f(2, [3]) == 5`` becomes a call and an expectation of its value: the program under test receives only the
arguments, and its value is compared in this process. Assertions of another form are refused, as a program that runs in
one process with its judge can forge the result.
"""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Mapping
from typing import Any

from ...sandbox import CallTest
from .expectations import WRAPPERS, Expectation

# Maximum bits and items of a constant computed in a test.
_MOST_BITS, _MOST_ITEMS = 14_000, 100_000
_BINARY = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_UNARY = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert, ast.Not: operator.not_}
_CONSTRUCTORS = {
    **{kind.__name__: kind for kind in (set, frozenset, list, tuple, dict, float, complex)},
    "sorted": sorted,
    "len": len,
    "range": range,
}
_Names = dict[str, Any]


class UnreadableAssertion(Exception):
    """Raised for a test that cannot be read; the message quotes it and gives the reason."""


def read_assertions(source: str, function: str) -> list[CallTest]:
    """Read the tests of a module: its assertions at the top level, or in its function ``check(candidate)``.

    Args:
        source: the text of the module. Assertions may use names to which the module assigns constants.
        function: the name of the function under test.

    Raises:
        UnreadableAssertion: a statement cannot be read as a test, or there is no test.
    """
    tests: list[CallTest] = []
    _read_statements(_parse(source).body, function, {function}, {}, tests)
    if not tests:
        raise UnreadableAssertion("there is no assertion about a call")
    return tests


def _parse(source: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UnreadableAssertion(f"the tests are no Python ({error})") from None


def _read_statements(
    body: list[ast.stmt], function: str, called: set[str], names: _Names, tests: list[CallTest]
) -> None:
    for statement in body:
        match statement:
            case ast.Assert(test=test):
                found = _read_test(test, function, called, names)
                if found is not None:
                    tests.append(found)
            case ast.FunctionDef(name="check", args=ast.arguments(args=[ast.arg(arg=candidate)])):
                _read_statements(statement.body, function, called | {candidate}, names, tests)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                try:
                    names[name] = evaluate_constant(value, names)
                except UnreadableAssertion:
                    # Ignore this assignment; a test that uses the name is refused later.
                    names.pop(name, None)
            case ast.Import() | ast.ImportFrom() | ast.Pass() | ast.Expr(value=ast.Constant() | ast.Name()):
                pass
            case ast.Expr(value=ast.Call(func=ast.Name(id="check" | "print"))) | ast.Return(value=None):
                pass
            case _:
                raise UnreadableAssertion(f"the test has the statement {_quote(statement)}")


def _read_test(test: ast.expr, function: str, called: set[str], names: _Names) -> CallTest | None:
    """Read the test of an assertion. Return None for a true constant, which says nothing about the program."""
    if isinstance(test, ast.Constant):
        if test.value:
            return None
        raise UnreadableAssertion("the test asserts what is never true")
    for call, expected in _find_readings(test, names):
        through: list[str] = []
        while (name := _wrapper(call, called)) is not None:
            through.append(name)
            call = call.args[0]  # type: ignore[attr-defined]
        if _is_call(call, called):
            value = expected()
            arguments = [evaluate_constant(argument, names) for argument in call.args]  # type: ignore[attr-defined]
            through.reverse()
            relation = value["relation"]
            if {"set", "frozenset"} & {*through} and (through[-1] not in ("set", "frozenset") or relation != "equal"):
                raise UnreadableAssertion(f"the test {_quote(test)} is about more than which items a set has")
            if relation == "in" and not isinstance(value["value"], (list, tuple, set, frozenset)):
                raise UnreadableAssertion(f"the test {_quote(test)} is about a part of a text")
            return CallTest(function, arguments, Expectation(through=tuple(through), **value))
    raise UnreadableAssertion(f"the test {_quote(test)} is no comparison of a call with a constant")


def _find_readings(test: ast.expr, names: _Names) -> list[tuple[Any, Any]]:
    """List the readings of an assertion: pairs (expression that may be the call, function that evaluates the arguments
    of the `Expectation` of its value)."""

    def expects(relation: str, node: ast.expr | None = None, **more: Any) -> Any:
        return lambda: {"value": None if node is None else evaluate_constant(node, names), "relation": relation, **more}

    match test:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            return [(left, expects("equal", right)), (right, expects("equal", left))]
        case ast.Compare(left=left, ops=[ast.Is()], comparators=[ast.Constant() as right]):
            return [(left, expects("is", right))]
        case ast.Compare(left=left, ops=[ast.In()], comparators=[right]):
            return [(left, expects("in", right))]
        case ast.Compare(
            left=ast.Call(
                func=ast.Name(id="abs"),
                args=[ast.BinOp(left=one, op=ast.Sub(), right=other)],
            ),
            ops=[(ast.Lt() | ast.LtE()) as order],
            comparators=[bound],
        ):
            close = {"absolute": _evaluate_number(bound, names), "strict": isinstance(order, ast.Lt)}
            return [(one, expects("near", other, **close)), (other, expects("near", one, **close))]
        case ast.Call(
            func=ast.Name(id="isclose") | ast.Attribute(value=ast.Name(id="math"), attr="isclose"),
            args=[one, other],
            keywords=keywords,
        ) if all(keyword.arg in ("rel_tol", "abs_tol") for keyword in keywords):
            given = {keyword.arg: _evaluate_number(keyword.value, names) for keyword in keywords}
            close = {"absolute": given.get("abs_tol", 0.0), "relative": given.get("rel_tol", 1e-9)}
            return [(one, expects("close", other, **close)), (other, expects("close", one, **close))]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return [(operand, expects("false"))]
    return [(test, expects("true"))]


def _is_call(node: ast.expr, called: set[str]) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in called
        and not node.keywords
        and not any(isinstance(argument, ast.Starred) for argument in node.args)
    )


def _wrapper(node: ast.expr, called: set[str]) -> str | None:
    """Return the name of the function around an expression if it is one of `WRAPPERS`, else None."""
    match node:
        case ast.Call(func=ast.Name(id="round"), args=[_, ast.Constant(value=int(digits))], keywords=[]):
            return f"round:{digits}"
        case ast.Call(func=ast.Name(id=name), args=[_], keywords=[]) if name in WRAPPERS and name not in called:
            return name
    return None


def _evaluate_number(node: ast.expr, names: _Names) -> float:
    value = evaluate_constant(node, names)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise UnreadableAssertion(f"the tolerance {_quote(node)} is no number")
    return float(value)


def evaluate_constant(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """Evaluate an expression of constants, of bounded size.

    Args:
        node: the expression.
        names: the values of the names that the expression may use.

    Raises:
        UnreadableAssertion: the expression uses something else, cannot be computed, or has too large a value.
    """
    try:
        value = _evaluate(node, names)
    except (ArithmeticError, TypeError, ValueError, RecursionError) as error:
        raise UnreadableAssertion(f"the constant {_quote(node)} cannot be worked out ({error})") from None
    if not _is_small(value):
        raise UnreadableAssertion(f"the constant {_quote(node)} is too large, or no plain data")
    return value


def _evaluate(node: ast.expr, names: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=value) if value is not ...:
            return value
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.List(elts=items):
            return [_evaluate(item, names) for item in items]
        case ast.Tuple(elts=items):
            return tuple(_evaluate(item, names) for item in items)
        case ast.Set(elts=items):
            return {_evaluate(item, names) for item in items}
        case ast.Dict(keys=keys, values=values) if None not in keys:
            return {
                _evaluate(key, names): _evaluate(value, names) for key, value in zip(keys, values) if key is not None
            }
        case ast.UnaryOp(op=op, operand=operand):
            return _UNARY[type(op)](_evaluate(operand, names))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            a, b = _evaluate(left, names), _evaluate(right, names)
            _check_size(type(op), a, b)
            return _BINARY[type(op)](a, b)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _CONSTRUCTORS:
            values = [_evaluate(argument, names) for argument in args]
            if isinstance(values[0] if values else None, range) and len(values[0]) > _MOST_ITEMS:
                raise ValueError("too many items")
            return _CONSTRUCTORS[name](*values)
    raise UnreadableAssertion(f"{_quote(node)} is no constant")


def _is_small(value: Any) -> bool:
    """Return True for plain data with at most `_MOST_ITEMS` items, nested ones included."""
    left, waiting = _MOST_ITEMS, [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, range):
            return False
        left -= max(len(item), 1) if isinstance(item, (str, bytes)) else 1
        if left < 0:
            return False
        if isinstance(item, (list, tuple, set, frozenset)):
            waiting += item
        elif isinstance(item, dict):
            waiting += [*item.keys(), *item.values()]
    return True


def _check_size(op: type[ast.operator], a: Any, b: Any) -> None:
    """Refuse an operation whose result would be too large, before it is computed."""
    if isinstance(a, int) and isinstance(b, int):
        bits = a.bit_length() * abs(b) if op is ast.Pow else a.bit_length() + b.bit_length()
        if bits > _MOST_BITS:
            raise ValueError("too large a number")
    elif op is ast.Pow and not isinstance(a, float) and not isinstance(b, float):
        raise TypeError("a power of something else than numbers")
    elif op is ast.Mod and isinstance(a, (str, bytes)):
        raise TypeError("a text that is put together")
    for items, times in ((a, b), (b, a)):
        if op is ast.Mult and isinstance(items, (str, bytes, list, tuple)) and len(items) * times > _MOST_ITEMS:
            raise ValueError("too many items")


def _quote(node: ast.AST) -> str:
    """Return the code of a node in quotation marks, shortened to 80 characters."""
    try:
        text = ast.unparse(node)
    except RecursionError:
        text = type(node).__name__
    text = " ".join(text.split())
    return repr(text if len(text) <= 80 else text[:77] + "...")
