"""Bugs of the kinds that people make, put into one place of a piece of code.

`sites` gives every place that a kind of bug fits, and `mutant` puts it there; whether a bug shows on any input is for
the caller to find out.
"""

from __future__ import annotations

import ast
import copy
import functools
from collections.abc import Callable, Iterator
from typing import NamedTuple

# What a node may be replaced by; a statement may be left out (None).
_Change = Callable[[ast.AST], Iterator[ast.AST | None]]


class Site(NamedTuple):
    """A place for a bug: its kind, the node in the order of `ast.walk`, and which of several ways."""

    kind: str
    node: int
    way: int


@functools.lru_cache(maxsize=8192)
def sites(code: str) -> tuple[Site, ...]:
    """Every place in ``code`` where a bug fits."""
    nodes = [(place, node) for place, node in enumerate(ast.walk(ast.parse(code))) if isinstance(node, _CHANGED)]
    return tuple(
        Site(kind, place, way)
        for kind, change in KINDS.items()
        for place, node in nodes
        for way, _ in enumerate(change(node))
    )


@functools.lru_cache(maxsize=8192)
def mutant(code: str, site: Site) -> str:
    """``code``, which is as `ast.unparse` writes it, with the bug; equal to it where the bug changes nothing."""
    tree = ast.parse(code)
    old = list(ast.walk(tree))[site.node]
    _put(tree, old, list(KINDS[site.kind](old))[site.way])
    return ast.unparse(tree)


def _put(tree: ast.AST, old: ast.AST, new: ast.AST | None) -> None:
    """Replace a node of the tree; None takes a statement out."""
    for node in ast.walk(tree):
        for name, field in ast.iter_fields(node):
            if field is old:
                setattr(node, name, new)
            elif isinstance(field, list) and any(item is old for item in field):
                place = next(i for i, item in enumerate(field) if item is old)
                field[place : place + 1] = [] if new is None else [new]
                if name == "body" and not field:
                    field.append(ast.Pass())


def _with(node: ast.AST, **fields: object) -> ast.AST:
    """A copy of the node with other fields."""
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _comparison(table: dict[type[ast.cmpop], type[ast.cmpop]]) -> _Change:
    def change(node: ast.AST) -> Iterator[ast.AST]:
        if isinstance(node, ast.Compare) and type(node.ops[0]) in table:
            yield _with(node, ops=[table[type(node.ops[0])](), *node.ops[1:]])

    return change


def _arithmetic(table: dict[type[ast.operator], type[ast.operator]]) -> _Change:
    def change(node: ast.AST) -> Iterator[ast.AST]:
        if isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in table:
            yield _with(node, op=table[type(node.op)]())

    return change


def _constant(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield ast.Constant(node.value + 1)
        yield ast.Constant(node.value - 1)


def _range(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
        first, *rest = node.args
        if rest:
            yield _with(node, args=[first, ast.BinOp(rest[0], ast.Sub(), ast.Constant(1)), *rest[1:]])
        else:
            yield _with(node, args=[ast.BinOp(first, ast.Sub(), ast.Constant(1))])
            yield _with(node, args=[ast.Constant(1), first])


def _index(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
        if isinstance(node.slice, ast.UnaryOp):
            yield _with(node, slice=ast.Constant(0))
        elif isinstance(node.slice, ast.Constant):
            yield _with(node, slice=ast.UnaryOp(ast.USub(), ast.Constant(1)))
        elif isinstance(node.slice, ast.Name):
            yield _with(node, slice=ast.BinOp(node.slice, ast.Sub(), ast.Constant(1)))


def _slice(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Slice):
        if node.step is not None:
            yield _with(node, step=None)
        if node.lower is not None and node.upper is None:
            yield ast.Slice(None, node.lower, None)
        if node.upper is not None and node.lower is None:
            yield ast.Slice(node.upper, None, None)


def _swapped(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Call) and len(node.args) == 2:
        yield _with(node, args=node.args[::-1])
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Sub, ast.FloorDiv, ast.Mod, ast.Add)):
        yield _with(node, left=node.right, right=node.left)


def _logic(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BoolOp):
        yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())


def _condition(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, (ast.If, ast.IfExp)):
        test = node.test
        bare = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
        yield _with(node, test=test.operand if bare else ast.UnaryOp(ast.Not(), test))  # type: ignore[attr-defined]


def _branches(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, (ast.If, ast.IfExp)) and node.orelse:
        yield _with(node, body=node.orelse, orelse=node.body)


_FUNCTIONS = {"min": "max", "max": "min", "sum": "len", "any": "all", "all": "any", "sorted": "list"}
_METHODS = {"upper": "lower", "lower": "upper", "isdigit": "isalpha", "isalpha": "isdigit", "isupper": "islower"}


def _function(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS:
        name = _FUNCTIONS[node.func.id]
        keywords = [] if name == "list" else node.keywords
        yield _with(node, func=ast.Name(name, ast.Load()), keywords=keywords)
    if isinstance(node, ast.Attribute) and node.attr in _METHODS:
        yield _with(node, attr=_METHODS[node.attr])


def _option(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Call) and node.keywords:
        yield _with(node, keywords=[])


def _missing(node: ast.AST) -> Iterator[ast.AST | None]:
    if isinstance(node, (ast.AugAssign, ast.Expr)) or (isinstance(node, ast.If) and not node.orelse):
        yield None


def _initial(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and type(node.value.value) is int:
        yield _with(node, value=ast.Constant(1 if node.value.value == 0 else 0))


def _overwritten(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.AugAssign):
        yield ast.copy_location(ast.Assign([node.target], node.value), node)


def _unfiltered(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.comprehension) and node.ifs:
        yield _with(node, ifs=[])


def _variable(node: ast.AST) -> Iterator[ast.AST]:
    """The index for the item, or the item for the index."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in ("i", "v"):
        yield ast.Name("v" if node.id == "i" else "i", ast.Load())


def _early(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, (ast.For, ast.While)):
        yield _with(node, body=[*node.body, ast.Break()])


# Nodes of other types, such as contexts and operators, are never what a bug changes.
_CHANGED = (
    *(ast.Compare, ast.BinOp, ast.AugAssign, ast.Assign, ast.Call, ast.Subscript, ast.Slice, ast.Constant, ast.BoolOp),
    *(ast.If, ast.IfExp, ast.Attribute, ast.Expr, ast.comprehension, ast.Name, ast.For, ast.While),
)
KINDS: dict[str, _Change] = {
    "comparison at its boundary": _comparison({ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}),
    "comparison the wrong way": _comparison({ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}),
    "comparison negated": _comparison({ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In}),
    "sign": _arithmetic({ast.Add: ast.Sub, ast.Sub: ast.Add}),
    "arithmetic operator": _arithmetic({ast.Mult: ast.Add, ast.FloorDiv: ast.Mod, ast.Mod: ast.FloorDiv}),
    "initial value": _initial,
    "range": _range,
    "index": _index,
    "slice": _slice,
    "constant": _constant,
    "swapped arguments": _swapped,
    "and for or": _logic,
    "condition": _condition,
    "swapped branches": _branches,
    "function": _function,
    "missing option": _option,
    "missing statement": _missing,
    "overwritten": _overwritten,
    "missing filter": _unfiltered,
    "variable": _variable,
    "loop left early": _early,
}
