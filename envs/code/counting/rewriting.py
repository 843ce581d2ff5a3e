"""Rewriting of programs so that Python runs them and they charge the meter.

Each operation becomes a call of its guard in `guards`: ``a + b`` becomes ``.Add(a, b)``. No identifier of a program
contains a dot, so that no program can name a guard. Each statement is preceded by a charge of one step, plus one for
each node of its expressions. Expressions that are evaluated on a condition or repeatedly charge for themselves:
``.charge(steps) and expression``.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Sequence
from typing import Any

from .meter import Uncounted
from .modules import IGNORED, MODULES
from .rewriting_expressions import (
    PLACE,
    ExpressionRewriter,
    constant,
    guard,
    holds_names,
    load,
    no_parameters,
    shape,
    target,
)

_NO_ATTRIBUTES = "attributes of values are not counted here: use a dict or a list"


class ProgramRewriter(ExpressionRewriter):
    """Rewriter of statements, in place where possible. The method for a statement returns one or several statements."""

    def __init__(self, tree: ast.AST):
        super().__init__(tree)
        self._in_try = False

    def rewrite_block(self, nodes: Sequence[ast.stmt], turn: int = 0) -> list[ast.stmt]:
        """Rewrite successive statements; the first charges ``turn`` steps more. Statements that are only a constant,
        such as docstrings, are left out.

        Raises:
            Uncounted: the statements use a part of Python that is not supported.
        """
        before, found = self.cost, []
        for node in nodes:
            if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
                self.cost = 1
                rewritten = self.visit(node)
                found += _charge(self.cost + turn)
                found += rewritten if isinstance(rewritten, list) else [rewritten]
                turn = 0
        self.cost = before
        return [*found, *_charge(turn)] or [ast.Pass(**PLACE) for _ in nodes[:1]]

    def visit_Expr(self, node: ast.Expr) -> Any:
        value = node.value
        if not isinstance(value, (ast.Yield, ast.YieldFrom)):
            node.value = self.visit(value)
            return node
        if self._in_try:
            raise Uncounted("yield within try is not counted here: use yield outside")
        self.cost += 1
        if isinstance(value, ast.YieldFrom):
            value.value = guard("charge_each", guard("iterate", self.visit(value.value)))
        elif value.value is not None:
            value.value = self.visit(value.value)
        return node

    def visit_Pass(self, node: ast.stmt) -> Any:
        return node

    visit_Break = visit_Continue = visit_Pass

    def visit_Global(self, node: ast.stmt) -> Any:
        self.cost = 0
        return node

    visit_Nonlocal = visit_Global

    # Assignments.

    def visit_Assign(self, node: ast.Assign) -> Any:
        value = self.visit(node.value)
        if len(node.targets) == 1:
            return self._store(node.targets[0], value)
        name = self.temporary()
        return [_assign(name, value), *[one for place in node.targets for one in self._store(place, load(name))]]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is not None:
            return self._store(node.target, self.visit(node.value))
        self.cost = 0
        # In a function, this makes the name local.
        node.annotation = constant(None)
        return node if isinstance(node.target, ast.Name) else []

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        place, operation = node.target, f"in place {type(node.op).__name__}"
        self.cost += 1
        if isinstance(place, ast.Name):
            return _assign(place.id, guard(operation, load(place.id), self.visit(node.value)))
        if not isinstance(place, ast.Subscript):
            raise Uncounted(_NO_ATTRIBUTES)
        box, key = self.temporary(), self.temporary()
        changed = guard(operation, guard("get_item", load(box), load(key)), self.visit(node.value))
        return [
            _assign(box, self.visit(place.value)),
            _assign(key, self.visit(place.slice)),
            _call("set_item", changed, load(box), load(key)),
        ]

    def visit_Delete(self, node: ast.Delete) -> Any:
        return [part for place in node.targets for part in self._delete(place)]

    def _store(self, place: ast.expr, value: ast.expr) -> list[ast.stmt]:
        """Return the statements that assign a value. A name costs nothing; another target one step for each node."""
        if isinstance(place, ast.Name):
            return [_assign(place.id, value)]
        if isinstance(place, ast.Subscript):
            return [_call("set_item", value, self.charge(place.value), self.charge(place.slice, 1))]
        if not isinstance(place, (ast.Tuple, ast.List)):
            raise Uncounted(_NO_ATTRIBUTES)
        later = []
        if not holds_names(place):
            for index, part in enumerate(place.elts):
                name = self.temporary()
                if isinstance(part, ast.Starred):
                    later += self._store(part.value, load(name))
                    part.value = target(name)
                else:
                    later += self._store(part, load(name))
                    place.elts[index] = target(name)
        return [ast.Assign([place], guard("unpack", value, shape(place)), **PLACE), *later]

    def _delete(self, place: ast.expr) -> list[ast.stmt]:
        if isinstance(place, ast.Name):
            return [ast.Delete([place], **PLACE)]
        if isinstance(place, (ast.Tuple, ast.List)):
            return [one for part in place.elts for one in self._delete(part)]
        if isinstance(place, ast.Subscript):
            return [_call("delete_item", self.charge(place.value), self.charge(place.slice, 1))]
        raise Uncounted(_NO_ATTRIBUTES)

    def visit_Import(self, node: ast.Import) -> Any:
        found = []
        for alias in node.names:
            if alias.name not in IGNORED:
                _check_module(alias.name)
                found.append(_assign(alias.asname or alias.name, load(f".{alias.name}")))
        return found

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        found, module = [], node.module or "."
        for alias in node.names if module not in IGNORED else ():
            _check_module(module)
            if alias.name not in MODULES[module].names:
                raise Uncounted(f"{module}.{alias.name} is not counted here")
            found.append(_assign(alias.asname or alias.name, load(f".{module}.{alias.name}")))
        return found

    # Branches and loops.

    def visit_If(self, node: ast.If) -> Any:
        node.test = self.visit(node.test)
        node.body, node.orelse = self.rewrite_block(node.body), self.rewrite_block(node.orelse)
        return node

    def visit_For(self, node: ast.For) -> Any:
        node.iter, node.orelse = guard("iterate", self.visit(node.iter)), self.rewrite_block(node.orelse)
        if isinstance(node.target, ast.Name):
            node.body = self.rewrite_block(node.body, 1)
        elif holds_names(node.target):
            node.iter, node.body = guard("rows", node.iter, shape(node.target)), self.rewrite_block(node.body)
        else:
            item = self.temporary()
            node.body = [*_charge(1), *self._store(node.target, load(item)), *self.rewrite_block(node.body)]
            node.target = target(item)
        return node

    def visit_While(self, node: ast.While) -> Any:
        node.test, node.body = self.charge(node.test), self.rewrite_block(node.body)
        node.orelse = self.rewrite_block(node.orelse)
        return node

    # Functions and exceptions.

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        decorators = [guard("decorate", self.visit(one)) for one in node.decorator_list]
        node.decorator_list, node.returns = [*decorators, load(".function")], None
        self.rewrite_parameters(node.args)
        outside, self._in_try = self._in_try, False
        node.body = self.rewrite_block(node.body)
        self._in_try = outside
        return node

    def visit_Return(self, node: ast.Return) -> Any:
        node.value = node.value and self.visit(node.value)
        return node

    def visit_Assert(self, node: ast.Assert) -> Any:
        node.test, node.msg = self.visit(node.test), node.msg and self.charge(node.msg)
        return node

    def visit_Raise(self, node: ast.Raise) -> Any:
        node.exc, node.cause = node.exc and guard("check_raised", self.visit(node.exc)), None
        return node

    def visit_Try(self, node: ast.Try) -> Any:
        outside, self._in_try = self._in_try, True
        node.body, node.orelse = self.rewrite_block(node.body), self.rewrite_block(node.orelse)
        for handler in node.handlers:
            kinds = self.charge(handler.type) if handler.type else load(".Exception")
            # The types are evaluated only for an exception that a program may catch.
            handler.type = guard("catch", ast.Lambda(no_parameters(), kinds, **PLACE))
            handler.body = self.rewrite_block(handler.body)
        if node.finalbody:
            node.finalbody = [_call("check_final"), *self.rewrite_block(node.finalbody)]
        self._in_try = outside
        return node


@functools.lru_cache(1_024)
def _charge(steps: int) -> Sequence[ast.stmt]:
    return [_call("charge", constant(steps))] if steps else ()


def _call(name: str, *given: ast.expr) -> ast.stmt:
    return ast.Expr(guard(name, *given), **PLACE)


def _assign(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([target(name)], value, **PLACE)


def _check_module(name: str) -> None:
    if name not in MODULES:
        raise Uncounted(f"the module {name} is not counted here: use {', '.join(MODULES)}")
