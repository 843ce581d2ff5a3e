"""Expressions and assignments of small programs, compiled to closures over a dict of variables; see `interpreter`."""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable
from typing import Any

Names = dict[str, Any]
Expression = Callable[[Names], Any]
# Maximum items of a list, characters of a text and numbers of a range; maximum bits of a number.
MOST_ITEMS, MOST_BITS = 5_000, 2_048
# The key of the remaining work, among the variables; no variable has this name.
LEFT = ""
_MISSING = object()


class Endless(Exception):
    """The program does more work, or makes larger values, than is allowed."""


def compile_expression(node: ast.expr) -> Expression:
    """Return a function of the variables that evaluates the expression.

    Raises:
        ValueError: the expression is of a kind that is not supported.
    """
    compile_node: Any = _EXPRESSIONS.get(type(node))
    if compile_node is None:
        raise ValueError(f"expression {type(node).__name__} is not known.")
    return compile_node(node)


def _constant(node: ast.Constant) -> Expression:
    value = node.value
    return lambda names: value


def _name(node: ast.Name) -> Expression:
    name = node.id
    if name in _FUNCTIONS:
        function = _FUNCTIONS[name]
        return lambda names: names.get(name, function)

    def load(names: Names) -> Any:
        try:
            return names[name]
        except KeyError:
            raise NameError(name) from None

    return load


def _list(node: ast.List) -> Expression:
    items = [compile_expression(item) for item in node.elts]
    return lambda names: [item(names) for item in items]


def _tuple(node: ast.Tuple) -> Expression:
    items = [compile_expression(item) for item in node.elts]
    return lambda names: tuple([item(names) for item in items])


def _dict(node: ast.Dict) -> Expression:
    if node.keys:
        raise ValueError("only the empty dict is known.")
    return lambda names: {}


def _times(left: Any, right: Any) -> Any:
    for items, count in ((left, right), (right, left)):
        if isinstance(items, (str, list)) and isinstance(count, int) and count * len(items) > MOST_ITEMS:
            raise Endless
    return left * right


_OPERATORS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: _times,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}


def find_operator(node: ast.AST) -> Callable[[Any, Any], Any]:
    """Return the function of an operator or a comparison.

    Raises:
        ValueError: the operator is not supported.
    """
    if type(node) not in _OPERATORS:
        raise ValueError(f"operator {type(node).__name__} is not known.")
    return _OPERATORS[type(node)]


def _binary(node: ast.BinOp) -> Expression:
    left, right, apply = compile_expression(node.left), compile_expression(node.right), find_operator(node.op)
    return lambda names: _check_size(apply(left(names), right(names)))


def _unary(node: ast.UnaryOp) -> Expression:
    value = compile_expression(node.operand)
    if isinstance(node.op, ast.Not):
        return lambda names: not value(names)
    if isinstance(node.op, ast.USub):
        return lambda names: -value(names)
    raise ValueError(f"operator {type(node.op).__name__} is not known.")


def _boolean(node: ast.BoolOp) -> Expression:
    values, stops_at = [compile_expression(value) for value in node.values], isinstance(node.op, ast.Or)

    def run(names: Names) -> Any:
        result = None
        for value in values:
            result = value(names)
            if bool(result) is stops_at:
                break
        return result

    return run


def _compare(node: ast.Compare) -> Expression:
    first = compile_expression(node.left)
    rest = [(find_operator(op), compile_expression(value)) for op, value in zip(node.ops, node.comparators)]

    def run(names: Names) -> bool:
        left = first(names)
        for holds, value in rest:
            right = value(names)
            if not holds(left, right):
                return False
            left = right
        return True

    return run


def _either(node: ast.IfExp) -> Expression:
    test, body, other = compile_expression(node.test), compile_expression(node.body), compile_expression(node.orelse)
    return lambda names: body(names) if test(names) else other(names)


def _subscript(node: ast.Subscript) -> Expression:
    value = compile_expression(node.value)
    if isinstance(node.slice, ast.Slice):
        parts = (node.slice.lower, node.slice.upper, node.slice.step)
        low, high, step = (compile_expression(part) if part is not None else no_value for part in parts)
        return lambda names: value(names)[low(names) : high(names) : step(names)]
    key = compile_expression(node.slice)
    return lambda names: value(names)[key(names)]


def _comprehension(node: ast.ListComp | ast.GeneratorExp) -> Expression:
    if len(node.generators) != 1:
        raise ValueError("only comprehensions over one iterable are known.")
    (source,) = node.generators
    element, items = compile_expression(node.elt), compile_expression(source.iter)
    store = compile_assignment(source.target)
    tests = [compile_expression(test) for test in source.ifs]
    own = [part.id for part in ast.walk(source.target) if isinstance(part, ast.Name)]

    def run(names: Names) -> list[Any]:
        outer = [(name, names.get(name, _MISSING)) for name in own]
        found = []
        for item in items(names):
            names[LEFT] -= 1
            store(names, item)
            if all([test(names) for test in tests]):
                found.append(element(names))
        if names[LEFT] < 0:
            raise Endless
        for name, value in outer:
            if value is not _MISSING:
                names[name] = value
            else:
                names.pop(name, None)
        return found

    return run


def _generator(node: ast.GeneratorExp) -> Expression:
    """Compute all items at once, and return them as an iterator, which has no length."""
    items = _comprehension(node)
    return lambda names: iter(items(names))


def _call(node: ast.Call) -> Expression:
    arguments = [compile_expression(argument) for argument in node.args]
    options = {keyword.arg or "": compile_expression(keyword.value) for keyword in node.keywords}
    if isinstance(node.func, ast.Attribute):
        method = node.func.attr
        kinds = tuple(kind for kind, methods in _METHODS.items() if method in methods)
        if not kinds or options:
            raise ValueError(f"the method {method} is not known.")
        owner = compile_expression(node.func.value)
        return lambda names: _method(kinds, owner(names), method)(*[argument(names) for argument in arguments])
    if not isinstance(node.func, ast.Name) or node.func.id not in _FUNCTIONS:
        raise ValueError(f"the function {ast.unparse(node.func)} is not known.")
    function = _FUNCTIONS[node.func.id]
    if not options:
        return lambda names: function(*[argument(names) for argument in arguments])
    return lambda names: function(
        *[argument(names) for argument in arguments], **{name: value(names) for name, value in options.items()}
    )


def _method(kinds: tuple[type, ...], owner: Any, method: str) -> Callable[..., Any]:
    if type(owner) not in kinds:
        raise AttributeError(method)
    return getattr(owner, method)


def _range(*bounds: int) -> range:
    numbers = range(*bounds)
    if len(numbers) > MOST_ITEMS:
        raise Endless
    return numbers


def compile_assignment(node: ast.expr) -> Callable[[Names, Any], None]:
    """Return a function ``store(variables, value)`` for a target: a name, several names, or an item.

    Raises:
        ValueError: the target is of a kind that is not supported.
    """
    if isinstance(node, ast.Name):
        return functools.partial(_store_name, node.id)
    if isinstance(node, ast.Tuple):
        return functools.partial(_store_all, [compile_assignment(part) for part in node.elts])
    if isinstance(node, ast.Subscript):
        return functools.partial(_store_item, compile_expression(node.value), compile_expression(node.slice))
    raise ValueError(f"assignment to {type(node).__name__} is not known.")


def _store_name(name: str, names: Names, value: Any) -> None:
    names[name] = value


def _store_all(stores: list[Callable[[Names, Any], None]], names: Names, value: Any) -> None:
    values = tuple(value)
    if len(values) != len(stores):
        raise ValueError("a wrong number of values to unpack.")
    for store, part in zip(stores, values):
        store(names, part)


def _store_item(container: Expression, key: Expression, names: Names, value: Any) -> None:
    container(names)[key(names)] = value


def no_value(names: Names) -> None:
    """Return None, for an omitted expression."""
    return None


def _check_size(value: Any) -> Any:
    if type(value) is int:
        if value.bit_length() > MOST_BITS:
            raise Endless
    elif isinstance(value, (str, list)) and len(value) > MOST_ITEMS:
        raise Endless
    return value


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{f.__name__: f for f in (abs, all, any, bin, chr, divmod, enumerate, int, len, list, map, max, min, ord)},
    **{f.__name__: f for f in (reversed, set, sorted, str, sum, tuple, zip)},
    "range": _range,
}
_METHODS: dict[type, tuple[str, ...]] = {
    str: (
        *("capitalize", "count", "endswith", "isalnum", "isalpha", "isdigit", "islower", "isupper", "join", "lower"),
        *("replace", "split", "startswith", "swapcase", "upper"),
    ),
    list: ("append", "count", "index", "insert"),
}
_EXPRESSIONS: dict[type[ast.expr], Callable[..., Expression]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.List: _list,
    ast.Tuple: _tuple,
    ast.Dict: _dict,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolean,
    ast.Compare: _compare,
    ast.IfExp: _either,
    ast.Subscript: _subscript,
    ast.ListComp: _comprehension,
    ast.GeneratorExp: _generator,
    ast.Call: _call,
}
