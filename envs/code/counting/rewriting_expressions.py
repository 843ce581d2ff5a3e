"""Rewriting of expressions: the part of `rewriting` without statements, and the nodes that it makes."""

from __future__ import annotations

import ast
import functools
from collections.abc import Sequence
from typing import Any

from .functions import BUILTINS
from .meter import Uncounted
from .values import Builtin

_INSTEAD = {
    ast.Await: "await is not counted here: use functions without async",
    ast.Yield: "the value of yield is not counted here: use yield as a statement",
    ast.YieldFrom: "the value of yield from is not counted here: use yield from as a statement",
    ast.Starred: "* is not counted here: use a list",
    ast.ClassDef: "class is not counted here: use functions, tuples and dicts",
    ast.With: "with is not counted here: use the arguments",
    ast.Match: "match is not counted here: use if",
    ast.AsyncFunctionDef: "async is not counted here: use def",
}
_LONG_TEXT = 8
# Python asks for the place of each node in the text.
PLACE: Any = {"lineno": 1, "col_offset": 0, "end_lineno": 1, "end_col_offset": 0}


class ExpressionRewriter(ast.NodeVisitor):
    """Rewriter of expressions, in place where possible; sums the steps that the current statement always takes.

    Attributes:
        bound: the names to which the program assigns.
        texts: long texts of the program, by the global names that stand for them in the rewritten program.
    """

    def __init__(self, tree: ast.AST):
        self.bound, self.texts = _bound_names(tree), {}
        self.cost = self._temporaries = 0

    def visit(self, node: ast.AST) -> Any:
        kind = type(node)
        if isinstance(node, ast.expr) and kind is not ast.Slice:
            self.cost += 1
        return getattr(self, f"visit_{kind.__name__}", self.generic_visit)(node)

    def generic_visit(self, node: ast.AST) -> Any:
        raise Uncounted(_INSTEAD.get(type(node), f"{type(node).__name__} is not counted here"))

    def charge(self, node: ast.expr, more: int = 0) -> ast.expr:
        """Rewrite an expression so that it charges for itself, and ``more`` steps, before it is evaluated."""
        before, self.cost = self.cost, more
        value = self.visit(node)
        charged = ast.BoolOp(ast.And(), [guard("charge", constant(self.cost)), value], **PLACE)
        self.cost = before
        return charged

    def temporary(self) -> str:
        self._temporaries += 1
        return f".{self._temporaries}"

    # Values.

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        value = node.value
        if isinstance(value, (bytes, complex)) or value is ...:
            raise Uncounted(f"{type(value).__name__} is not counted here: use text, numbers and lists")
        if not isinstance(value, str) or len(value) < _LONG_TEXT:
            return node
        # Python would keep equal texts as one object, whose comparison with itself costs nothing.
        name = f".text.{len(self.texts)}"
        self.texts[name] = value
        return load(name)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        _check_name(node.id)
        return node

    def visit_List(self, node: ast.List) -> ast.expr:
        node.elts = self._values(node.elts)
        return node

    def visit_Tuple(self, node: ast.Tuple) -> ast.expr:
        node.elts = self._values(node.elts)
        # Python would make a tuple of constants only once.
        is_constant = all([isinstance(value, ast.Constant) for value in node.elts])
        return guard("make_tuple", *node.elts) if is_constant else node

    def visit_Set(self, node: ast.Set) -> ast.expr:
        return guard("make_set", *self._values(node.elts))

    def _values(self, nodes: Sequence[ast.expr]) -> list[ast.expr]:
        """Rewrite the values of a call or a display."""
        found = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                node.value = guard("walk", self.visit(node.value))
                found.append(node)
            else:
                found.append(self.visit(node))
        return found

    def visit_Dict(self, node: ast.Dict) -> ast.expr:
        for place, (key, value) in enumerate(zip(node.keys, node.values)):
            node.keys[place] = key and guard("weigh", self.visit(key))
            node.values[place] = self.visit(value) if key else guard("check_mapping", self.visit(value))
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        return guard("join_text", *map(self.visit, node.values))

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.expr:
        value = self.visit(node.value)
        form = self.visit(node.format_spec) if node.format_spec else constant("")
        return guard("format_value", value, form, constant("" if node.conversion < 0 else chr(node.conversion)))

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        node.value = self.visit(node.value)
        return node

    # Operations.

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        return guard(type(node.op).__name__, self.visit(node.left), self.visit(node.right))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        node.operand = self.visit(node.operand)
        return node if isinstance(node.op, ast.Not) else guard(type(node.op).__name__, node.operand)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        node.values = [self.visit(node.values[0]), *map(self.charge, node.values[1:])]
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        node.test, node.body, node.orelse = self.visit(node.test), self.charge(node.body), self.charge(node.orelse)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        left, right = self.visit(node.left), self.visit(node.comparators[0])
        first, *rest = [type(op).__name__ for op in node.ops]
        if not rest:
            return guard(first, left, right)
        rest = [f"{'next' if place < len(rest) else 'last'} {name}" for place, name in enumerate(rest, 1)]
        later = [guard(name, self.charge(value)) for name, value in zip(rest, node.comparators[1:])]
        return ast.BoolOp(ast.And(), [guard(f"first {first}", left, right), *later], **PLACE)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        return guard("get_item", self.visit(node.value), self.visit(node.slice))

    def visit_Slice(self, node: ast.Slice) -> ast.expr:
        bounds = (node.lower, node.upper, node.step)
        return guard("slice", *[constant(None) if bound is None else self.visit(bound) for bound in bounds])

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return guard("attribute", self.visit(node.value), constant(node.attr))

    # Functions.

    def visit_Call(self, node: ast.Call) -> ast.expr:
        function, given = node.func, []
        if isinstance(function, ast.Attribute):
            self.cost += 1
            node.func = guard("method", self.visit(function.value), constant(function.attr))
        elif isinstance(function, ast.Name) and function.id not in self.bound and _is_function(function.id):
            self.cost += 1
            node.func = load(f".builtin.{function.id}")
        else:
            node.func, given = load(".call"), [self.visit(function)]
        node.args = given + self._values(node.args)
        for option in node.keywords:
            value = self.visit(option.value)
            option.value = value if option.arg else guard("check_mapping", value)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        self.rewrite_parameters(node.args)
        node.body = self.charge(node.body)
        return guard("function", node)

    def rewrite_parameters(self, given: ast.arguments) -> None:
        """Rewrite the defaults of a function's parameters, and remove the annotations."""
        given.defaults = [self.visit(value) for value in given.defaults]
        given.kw_defaults = [value and self.visit(value) for value in given.kw_defaults]
        for one in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
            if one is not None:
                one.annotation = None

    # Comprehensions.

    def visit_ListComp(self, node: ast.ListComp | ast.GeneratorExp) -> ast.expr:
        node.elt = self.charge(node.elt, self._rewrite_loops(node.generators))
        return node

    visit_GeneratorExp = visit_ListComp

    def visit_SetComp(self, node: ast.SetComp) -> ast.expr:
        node.elt = guard("weigh", self.charge(node.elt, self._rewrite_loops(node.generators)))
        return node

    def visit_DictComp(self, node: ast.DictComp) -> ast.expr:
        node.key = guard("weigh", self.charge(node.key, self._rewrite_loops(node.generators)))
        node.value = self.charge(node.value)
        return node

    def _rewrite_loops(self, loops: Sequence[ast.comprehension]) -> int:
        """Rewrite the loops of a comprehension. Return the steps (0 or 1) that the element must charge for each turn: 0
        if the last loop has a condition or a target of several parts, which then charges the step."""
        turn = 0
        for place, loop in enumerate(loops):
            if loop.is_async:
                raise Uncounted("async is not counted here: use for")
            loop.iter = guard("iterate", self.charge(loop.iter, turn) if place else self.visit(loop.iter))
            turn = 1
            if not isinstance(loop.target, ast.Name):
                if not holds_names(loop.target):
                    raise Uncounted("items as targets of a comprehension are not counted here: use a loop")
                loop.iter, turn = guard("rows", loop.iter, shape(loop.target)), 0
            for index, test in enumerate(loop.ifs):
                loop.ifs[index], turn = self.charge(test, turn), 0
        return turn


# Nodes.


@functools.lru_cache(1_024)
def load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load(), **PLACE)


def target(name: str) -> ast.Name:
    return ast.Name(name, ast.Store(), **PLACE)


def constant(value: Any) -> ast.Constant:
    return ast.Constant(value, **PLACE)


def guard(name: str, *given: ast.expr) -> ast.Call:
    return ast.Call(load(f".{name}"), [*given], [], **PLACE)


def no_parameters() -> ast.arguments:
    return ast.arguments([], [], None, [], [], None, [])


def shape(several: Any) -> ast.Constant:
    """Describe a target of several parts for `guards.unpack`."""
    return constant(_describe(several.elts))


def _describe(parts: Sequence[ast.expr]) -> tuple[Any, ...]:
    """Return the number of parts, True if one is starred, and (place, description) of each nested target."""
    starred = [place for place, part in enumerate(parts) if isinstance(part, ast.Starred)]
    inner = [
        (place - len(parts) if starred and place > starred[0] else place, _describe(part.elts))
        for place, part in enumerate(parts)
        if isinstance(part, (ast.Tuple, ast.List))
    ]
    return len(parts), bool(starred), tuple(inner)


def holds_names(several: ast.AST) -> bool:
    """Return True if a target consists of names only."""
    allowed = (ast.Name, ast.Tuple, ast.List, ast.Starred, ast.expr_context)
    return all([isinstance(part, allowed) for part in ast.walk(several)])


def _is_function(name: str) -> bool:
    return type(BUILTINS.get(name)) is Builtin


def _bound_names(tree: ast.AST) -> set[str]:
    found: set[str] = set()
    waiting: list[Any] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, ast.Name):
            found.update([node.id] if not isinstance(node.ctx, ast.Load) else [])
        elif isinstance(node, ast.AST):
            if isinstance(node, ast.alias):
                found.add(node.asname or node.name)
            elif isinstance(node, (ast.FunctionDef, ast.ExceptHandler)) and node.name:
                found.add(node.name)
            elif isinstance(node, ast.arg):
                found.add(node.arg)
            waiting += [getattr(node, field) for field in node._fields]
    for name in found:
        _check_name(name)
    return found


def _check_name(name: str) -> None:
    # Python looks up the guards in a dictionary of this name.
    if name == "__builtins__":
        raise Uncounted("__builtins__ is not counted here")
