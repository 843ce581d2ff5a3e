"""Small Python functions, run step by step with bounded work and no access to anything.

Programs of this package are made of blocks: the statements of a function's body as text, one step of the task each. A
block is translated to closures once, and these are kept. So the expected outputs of tests need neither ``exec`` nor a
sandbox, a bug that loops for ever costs little, and the work that a program does can be counted.
"""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

Names = dict[str, Any]
_Expression = Callable[[Names], Any]
# Returns None, _BREAK, _CONTINUE, or what the function returns in a tuple of one.
_Statement = Callable[[Names], Any]

# Statements and turns of loops in one call; items of a list, characters of a text and bits of a number.
MOST_WORK, MOST_ITEMS, MOST_BITS = 5_000, 5_000, 2_048
# Where the work left is counted; no variable has this name.
_LEFT = ""
_BREAK, _CONTINUE, _MISSING = object(), object(), object()


class Outcome(NamedTuple):
    """What a call returned, or the name of the error that ended it ("endless" for too much work); and the work."""

    value: Any
    error: str
    work: int


class Endless(Exception):
    """The program does more work, or makes larger values, than is allowed."""


def call(blocks: Iterable[str], arguments: Mapping[str, Any]) -> Outcome:
    """What a function with this body returns for arguments, given by name; None where it has no return.

    Raises:
        ValueError: the body uses something that is not known here.
    """
    names: Names = {name: _copied(value) for name, value in arguments.items()}
    names[_LEFT] = MOST_WORK
    error, value = "", None
    try:
        for block in blocks:
            signal = _translated(block)(names)
            if signal is not None:
                value = signal[0]
                break
    except Endless:
        error = "endless"
    except (ArithmeticError, AttributeError, LookupError, NameError, TypeError, ValueError) as problem:
        error = type(problem).__name__
    return Outcome(value, error, MOST_WORK - names[_LEFT])


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
    names[_LEFT] = MOST_WORK
    found = []
    for block, result in zip(blocks, results):
        if _translated(block)(names) is not None:
            break
        found.append(_copied(names[result]) if result else None)
    return found


@functools.lru_cache(maxsize=4096)
def _translated(block: str) -> _Statement:
    return _body(ast.parse(block).body)


def _copied(value: Any) -> Any:
    return list(value) if isinstance(value, list) else value


def _bounded(value: Any) -> Any:
    if type(value) is int:
        if value.bit_length() > MOST_BITS:
            raise Endless
    elif isinstance(value, (str, list)) and len(value) > MOST_ITEMS:
        raise Endless
    return value


# Statements.


def _body(statements: Sequence[ast.stmt]) -> _Statement:
    runs = [_statement(statement) for statement in statements]

    def run(names: Names) -> Any:
        for one in runs:
            names[_LEFT] -= 1
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
    store, value = _store(node.targets[0]), _expression(node.value)
    return lambda names: store(names, value(names))


def _augmented(node: ast.AugAssign) -> _Statement:
    load = _expression(ast.parse(ast.unparse(node.target), mode="eval").body)
    store, value, apply = _store(node.target), _expression(node.value), _operator(node.op)
    return lambda names: store(names, apply(load(names), value(names)))


def _store(node: ast.expr) -> Callable[[Names, Any], None]:
    if isinstance(node, ast.Name):
        return functools.partial(_store_name, node.id)
    if isinstance(node, ast.Tuple):
        return functools.partial(_store_all, [_store(part) for part in node.elts])
    if isinstance(node, ast.Subscript):
        return functools.partial(_store_item, _expression(node.value), _expression(node.slice))
    raise ValueError(f"assignment to {type(node).__name__} is not known.")


def _store_name(name: str, names: Names, value: Any) -> None:
    names[name] = value


def _store_all(stores: list[Callable[[Names, Any], None]], names: Names, value: Any) -> None:
    values = tuple(value)
    if len(values) != len(stores):
        raise ValueError("a wrong number of values to unpack.")
    for store, part in zip(stores, values):
        store(names, part)


def _store_item(container: _Expression, key: _Expression, names: Names, value: Any) -> None:
    container(names)[key(names)] = value


def _if(node: ast.If) -> _Statement:
    test, body, other = _expression(node.test), _body(node.body), _body(node.orelse)
    return lambda names: body(names) if test(names) else other(names)


def _for(node: ast.For) -> _Statement:
    store, items, body = _store(node.target), _expression(node.iter), _body(node.body)

    def run(names: Names) -> Any:
        for item in items(names):
            store(names, item)
            signal = body(names)
            if names[_LEFT] < 0:
                raise Endless
            if signal is _BREAK:
                break
            if signal is not None and signal is not _CONTINUE:
                return signal
        return None

    return run


def _while(node: ast.While) -> _Statement:
    test, body = _expression(node.test), _body(node.body)

    def run(names: Names) -> Any:
        while test(names):
            signal = body(names)
            if names[_LEFT] < 0:
                raise Endless
            if signal is _BREAK:
                break
            if signal is not None and signal is not _CONTINUE:
                return signal
        return None

    return run


def _return(node: ast.Return) -> _Statement:
    value = _expression(node.value) if node.value is not None else _none
    return lambda names: (value(names),)


def _evaluated(node: ast.Expr) -> _Statement:
    value = _expression(node.value)

    def run(names: Names) -> None:
        value(names)

    return run


def _none(names: Names) -> None:
    return None


_STATEMENTS: dict[type[ast.stmt], Callable[..., _Statement]] = {
    ast.Assign: _assign,
    ast.AugAssign: _augmented,
    ast.If: _if,
    ast.For: _for,
    ast.While: _while,
    ast.Return: _return,
    ast.Expr: _evaluated,
    ast.Pass: lambda node: _none,
    ast.Break: lambda node: lambda names: _BREAK,
    ast.Continue: lambda node: lambda names: _CONTINUE,
}


# Expressions.


def _expression(node: ast.expr) -> _Expression:
    translate: Any = _EXPRESSIONS.get(type(node))
    if translate is None:
        raise ValueError(f"expression {type(node).__name__} is not known.")
    return translate(node)


def _constant(node: ast.Constant) -> _Expression:
    value = node.value
    return lambda names: value


def _name(node: ast.Name) -> _Expression:
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


def _list(node: ast.List) -> _Expression:
    items = [_expression(item) for item in node.elts]
    return lambda names: [item(names) for item in items]


def _tuple(node: ast.Tuple) -> _Expression:
    items = [_expression(item) for item in node.elts]
    return lambda names: tuple([item(names) for item in items])


def _dict(node: ast.Dict) -> _Expression:
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


def _operator(node: ast.AST) -> Callable[[Any, Any], Any]:
    if type(node) not in _OPERATORS:
        raise ValueError(f"operator {type(node).__name__} is not known.")
    return _OPERATORS[type(node)]


def _binary(node: ast.BinOp) -> _Expression:
    left, right, apply = _expression(node.left), _expression(node.right), _operator(node.op)
    return lambda names: _bounded(apply(left(names), right(names)))


def _unary(node: ast.UnaryOp) -> _Expression:
    value = _expression(node.operand)
    if isinstance(node.op, ast.Not):
        return lambda names: not value(names)
    if isinstance(node.op, ast.USub):
        return lambda names: -value(names)
    raise ValueError(f"operator {type(node.op).__name__} is not known.")


def _boolean(node: ast.BoolOp) -> _Expression:
    values, stops_at = [_expression(value) for value in node.values], isinstance(node.op, ast.Or)

    def run(names: Names) -> Any:
        result = None
        for value in values:
            result = value(names)
            if bool(result) is stops_at:
                break
        return result

    return run


def _compare(node: ast.Compare) -> _Expression:
    first = _expression(node.left)
    rest = [(_operator(op), _expression(value)) for op, value in zip(node.ops, node.comparators)]

    def run(names: Names) -> bool:
        left = first(names)
        for holds, value in rest:
            right = value(names)
            if not holds(left, right):
                return False
            left = right
        return True

    return run


def _either(node: ast.IfExp) -> _Expression:
    test, body, other = _expression(node.test), _expression(node.body), _expression(node.orelse)
    return lambda names: body(names) if test(names) else other(names)


def _subscript(node: ast.Subscript) -> _Expression:
    value = _expression(node.value)
    if isinstance(node.slice, ast.Slice):
        parts = (node.slice.lower, node.slice.upper, node.slice.step)
        low, high, step = (_expression(part) if part is not None else _none for part in parts)
        return lambda names: value(names)[low(names) : high(names) : step(names)]
    key = _expression(node.slice)
    return lambda names: value(names)[key(names)]


def _comprehension(node: ast.ListComp | ast.GeneratorExp) -> _Expression:
    if len(node.generators) != 1:
        raise ValueError("only comprehensions over one iterable are known.")
    (source,) = node.generators
    element, items, store = _expression(node.elt), _expression(source.iter), _store(source.target)
    tests = [_expression(test) for test in source.ifs]
    own = [part.id for part in ast.walk(source.target) if isinstance(part, ast.Name)]

    def run(names: Names) -> list[Any]:
        outer = [(name, names.get(name, _MISSING)) for name in own]
        found = []
        for item in items(names):
            names[_LEFT] -= 1
            store(names, item)
            if all([test(names) for test in tests]):
                found.append(element(names))
        if names[_LEFT] < 0:
            raise Endless
        for name, value in outer:
            if value is not _MISSING:
                names[name] = value
            else:
                names.pop(name, None)
        return found

    return run


def _call(node: ast.Call) -> _Expression:
    arguments = [_expression(argument) for argument in node.args]
    options = {keyword.arg or "": _expression(keyword.value) for keyword in node.keywords}
    if isinstance(node.func, ast.Attribute):
        method = node.func.attr
        kinds = tuple(kind for kind, methods in _METHODS.items() if method in methods)
        if not kinds or options:
            raise ValueError(f"the method {method} is not known.")
        owner = _expression(node.func.value)
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
_EXPRESSIONS: dict[type[ast.expr], Callable[..., _Expression]] = {
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
    ast.GeneratorExp: _comprehension,
    ast.Call: _call,
}
