"""Mutations: typical human bugs, each at one place of a piece of code.

`find_sites` lists every place that a kind of bug fits, and `apply_mutation` inserts it. The caller checks that the bug
shows on some input. Each function here takes a node and yields its replacements.
"""

from __future__ import annotations

import ast
import copy
import functools
from collections.abc import Callable, Iterator
from typing import NamedTuple

# Yields the replacements of a node; None deletes a statement.
_Change = Callable[[ast.AST], Iterator[ast.AST | None]]


class Site(NamedTuple):
    """A place for a bug: its kind, the index of the node in `ast.walk`, and the index of the replacement."""

    kind: str
    node: int
    way: int


@functools.lru_cache(maxsize=8192)
def find_sites(code: str) -> tuple[Site, ...]:
    """List every place in ``code`` at which a bug can be inserted."""
    nodes = [(place, node) for place, node in enumerate(ast.walk(ast.parse(code))) if isinstance(node, _CHANGED)]
    return tuple(
        Site(kind, place, way)
        for kind, change in KINDS.items()
        for place, node in nodes
        for way, _ in enumerate(change(node))
    )


@functools.lru_cache(maxsize=8192)
def apply_mutation(code: str, site: Site) -> str:
    """Return ``code`` with the bug. The code is in the format of `ast.unparse`, so an equal text means no change."""
    tree = ast.parse(code)
    old = list(ast.walk(tree))[site.node]
    _replace_node(tree, old, list(KINDS[site.kind](old))[site.way])
    return ast.unparse(tree)


def _replace_node(tree: ast.AST, old: ast.AST, new: ast.AST | None) -> None:
    """Replace a node of the tree; None removes a statement."""
    for node in ast.walk(tree):
        for name, field in ast.iter_fields(node):
            if field is old:
                setattr(node, name, new)
            elif isinstance(field, list) and any(item is old for item in field):
                place = next(i for i, item in enumerate(field) if item is old)
                field[place : place + 1] = [] if new is None else [new]
                if name == "body" and not field:
                    field.append(ast.Pass())


def _copy_with(node: ast.AST, **fields: object) -> ast.AST:
    """Copy the node with these fields changed."""
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _map_comparison(table: dict[type[ast.cmpop], type[ast.cmpop]]) -> _Change:
    def change(node: ast.AST) -> Iterator[ast.AST]:
        if isinstance(node, ast.Compare) and type(node.ops[0]) in table:
            yield _copy_with(node, ops=[table[type(node.ops[0])](), *node.ops[1:]])

    return change


def _replace_operator(table: dict[type[ast.operator], type[ast.operator]]) -> _Change:
    def change(node: ast.AST) -> Iterator[ast.AST]:
        if isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in table:
            yield _copy_with(node, op=table[type(node.op)]())

    return change


def _shift_constant(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield ast.Constant(node.value + 1)
        yield ast.Constant(node.value - 1)


def _shift_range(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
        first, *rest = node.args
        if rest:
            yield _copy_with(node, args=[first, ast.BinOp(rest[0], ast.Sub(), ast.Constant(1)), *rest[1:]])
        else:
            yield _copy_with(node, args=[ast.BinOp(first, ast.Sub(), ast.Constant(1))])
            yield _copy_with(node, args=[ast.Constant(1), first])


def _shift_index(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
        if isinstance(node.slice, ast.UnaryOp):
            yield _copy_with(node, slice=ast.Constant(0))
        elif isinstance(node.slice, ast.Constant):
            yield _copy_with(node, slice=ast.UnaryOp(ast.USub(), ast.Constant(1)))
        elif isinstance(node.slice, ast.Name):
            yield _copy_with(node, slice=ast.BinOp(node.slice, ast.Sub(), ast.Constant(1)))


def _change_slice(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Slice):
        if node.step is not None:
            yield _copy_with(node, step=None)
        if node.lower is not None and node.upper is None:
            yield ast.Slice(None, node.lower, None)
        if node.upper is not None and node.lower is None:
            yield ast.Slice(node.upper, None, None)


def _swap_arguments(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Call) and len(node.args) == 2:
        yield _copy_with(node, args=node.args[::-1])
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Sub, ast.FloorDiv, ast.Mod, ast.Add)):
        yield _copy_with(node, left=node.right, right=node.left)


def _swap_and_or(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BoolOp):
        yield _copy_with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())


def _negate_condition(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, (ast.If, ast.IfExp)):
        test = node.test
        bare = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
        yield _copy_with(node, test=test.operand if bare else ast.UnaryOp(ast.Not(), test))  # type: ignore[attr-defined]


def _swap_branches(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, (ast.If, ast.IfExp)) and node.orelse:
        yield _copy_with(node, body=node.orelse, orelse=node.body)


_FUNCTIONS = {"min": "max", "max": "min", "sum": "len", "any": "all", "all": "any", "sorted": "list"}
_METHODS = {"upper": "lower", "lower": "upper", "isdigit": "isalpha", "isalpha": "isdigit", "isupper": "islower"}


def _replace_function(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS:
        name = _FUNCTIONS[node.func.id]
        keywords = [] if name == "list" else node.keywords
        yield _copy_with(node, func=ast.Name(name, ast.Load()), keywords=keywords)
    if isinstance(node, ast.Attribute) and node.attr in _METHODS:
        yield _copy_with(node, attr=_METHODS[node.attr])


def _drop_options(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Call) and node.keywords:
        yield _copy_with(node, keywords=[])


def _drop_statement(node: ast.AST) -> Iterator[ast.AST | None]:
    if isinstance(node, (ast.AugAssign, ast.Expr)) or (isinstance(node, ast.If) and not node.orelse):
        yield None


def _change_initial_value(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and type(node.value.value) is int:
        yield _copy_with(node, value=ast.Constant(1 if node.value.value == 0 else 0))


def _overwrite(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.AugAssign):
        yield ast.copy_location(ast.Assign([node.target], node.value), node)


def _drop_filter(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.comprehension) and node.ifs:
        yield _copy_with(node, ifs=[])


def _swap_variables(node: ast.AST) -> Iterator[ast.AST]:
    """Replace the index by the item, or the item by the index."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in ("i", "v"):
        yield ast.Name("v" if node.id == "i" else "i", ast.Load())


def _leave_loop_early(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, (ast.For, ast.While)):
        yield _copy_with(node, body=[*node.body, ast.Break()])


# Nodes of other types, such as contexts and operators, have no bugs.
_CHANGED = (
    *(ast.Compare, ast.BinOp, ast.AugAssign, ast.Assign, ast.Call, ast.Subscript, ast.Slice, ast.Constant, ast.BoolOp),
    *(ast.If, ast.IfExp, ast.Attribute, ast.Expr, ast.comprehension, ast.Name, ast.For, ast.While),
)
KINDS: dict[str, _Change] = {
    "comparison at its boundary": _map_comparison({ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}),
    "comparison the wrong way": _map_comparison({ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}),
    "comparison negated": _map_comparison({ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In}),
    "sign": _replace_operator({ast.Add: ast.Sub, ast.Sub: ast.Add}),
    "arithmetic operator": _replace_operator({ast.Mult: ast.Add, ast.FloorDiv: ast.Mod, ast.Mod: ast.FloorDiv}),
    "initial value": _change_initial_value,
    "range": _shift_range,
    "index": _shift_index,
    "slice": _change_slice,
    "constant": _shift_constant,
    "swapped arguments": _swap_arguments,
    "and for or": _swap_and_or,
    "condition": _negate_condition,
    "swapped branches": _swap_branches,
    "function": _replace_function,
    "missing option": _drop_options,
    "missing statement": _drop_statement,
    "overwritten": _overwrite,
    "missing filter": _drop_filter,
    "variable": _swap_variables,
    "loop left early": _leave_loop_early,
}
