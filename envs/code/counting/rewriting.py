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

from .functions import BUILTINS
from .meter import Uncounted
from .modules import IGNORED, MODULES
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
_NO_ATTRIBUTES = "attributes of values are not counted here: use a dict or a list"
_LONG_TEXT = 8
# Python asks for the place of each node in the text.
PLACE: Any = {"lineno": 1, "col_offset": 0, "end_lineno": 1, "end_col_offset": 0}


class Rewriter(ast.NodeVisitor):
    """Rewrites the nodes of a program, in place where it can, and sums the steps that the current statement always
    takes. A method for an expression returns an expression; one for a statement returns statements.

    Attributes:
        texts: values of further global names of the rewritten program.
    """

    def __init__(self, tree: ast.AST):
        self.texts: dict[str, str] = {}
        self.bound = _bound_names(tree)
        self._cost = self._temporaries = 0
        self._in_function = self._in_try = False

    # Statements.

    def rewrite_block(self, nodes: Sequence[ast.stmt], turn: int = 0) -> list[ast.stmt]:
        """Rewrite statements in a row; the first charges ``turn`` steps more. Constants alone, such as docstrings, are
        left out.

        Raises:
            Uncounted: they use a part of Python that is not supported.
        """
        before, found = self._cost, []
        for node in nodes:
            if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
                self._cost = 1
                rewritten = self.visit(node)
                found += [*_charge(self._cost + turn), *rewritten]
                turn = 0
        self._cost = before
        return [*found, *_charge(turn)] or [ast.Pass(**PLACE) for _ in nodes[:1]]

    def generic_visit(self, node: ast.AST) -> Any:
        raise Uncounted(_INSTEAD.get(type(node), f"{type(node).__name__} is not counted here"))

    def visit_Expr(self, node: ast.Expr) -> list[ast.stmt]:
        value = node.value
        if not isinstance(value, (ast.Yield, ast.YieldFrom)):
            node.value = self.visit(value)
            return [node]
        if self._in_try:
            raise Uncounted("yield within try is not counted here: use yield outside")
        self._cost += 1
        if isinstance(value, ast.Yield):
            value.value = value.value and self.visit(value.value)
            return [node]
        item = self._temporary()
        body = [*_charge(1), ast.Expr(ast.Yield(_load(item), **PLACE), **PLACE)]
        return [ast.For(_target(item), _guard("iterate", self.visit(value.value)), body, [], **PLACE)]

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        value = self.visit(node.value)
        if len(node.targets) == 1:
            return self._store(node.targets[0], value)
        name = self._temporary()
        return _assign(name, value) + [one for target in node.targets for one in self._store(target, _load(name))]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> list[ast.stmt]:
        if node.value is not None:
            return self._store(node.target, self.visit(node.value))
        self._cost = 0
        # The name is local; Python does not evaluate its annotation.
        node.annotation = _constant(None)
        return [node] if self._in_function and isinstance(node.target, ast.Name) else []

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        target, operation = node.target, f"in place {type(node.op).__name__}"
        self._cost += 1
        if isinstance(target, ast.Name):
            return _assign(target.id, _guard(operation, _load(target.id), self.visit(node.value)))
        if not isinstance(target, ast.Subscript):
            raise Uncounted(_NO_ATTRIBUTES)
        box, key = self._temporary(), self._temporary()
        changed = _guard(operation, _guard("get_item", _load(box), _load(key)), self.visit(node.value))
        return [
            *_assign(box, self.visit(target.value)),
            *_assign(key, self.visit(target.slice)),
            *_call("set_item", changed, _load(box), _load(key)),
        ]

    def visit_Delete(self, node: ast.Delete) -> list[ast.stmt]:
        return [part for target in node.targets for part in self._delete(target)]

    def visit_If(self, node: ast.If) -> list[ast.stmt]:
        node.test = self.visit(node.test)
        node.body, node.orelse = self.rewrite_block(node.body), self.rewrite_block(node.orelse)
        return [node]

    def visit_For(self, node: ast.For) -> list[ast.stmt]:
        node.iter, node.orelse = _guard("iterate", self.visit(node.iter)), self.rewrite_block(node.orelse)
        if isinstance(node.target, ast.Name):
            node.body = self.rewrite_block(node.body, 1)
        elif _holds_names(node.target):
            node.iter, node.body = _guard("rows", node.iter, _shape(node.target)), self.rewrite_block(node.body)
        else:
            item = self._temporary()
            node.body = [*_charge(1), *self._store(node.target, _load(item)), *self.rewrite_block(node.body)]
            node.target = _target(item)
        return [node]

    def visit_While(self, node: ast.While) -> list[ast.stmt]:
        node.test, node.body = self._charged(node.test), self.rewrite_block(node.body)
        node.orelse = self.rewrite_block(node.orelse)
        return [node]

    def visit_Return(self, node: ast.Return) -> list[ast.stmt]:
        node.value = node.value and self.visit(node.value)
        return [node]

    def visit_Pass(self, node: ast.stmt) -> list[ast.stmt]:
        return [node]

    visit_Break = visit_Continue = visit_Pass

    def visit_Global(self, node: ast.stmt) -> list[ast.stmt]:
        self._cost = 0
        return [node]

    visit_Nonlocal = visit_Global

    def visit_Import(self, node: ast.Import) -> list[ast.stmt]:
        found = []
        for alias in node.names:
            if alias.name not in IGNORED:
                _check_module(alias.name)
                found += _assign(alias.asname or alias.name, _load(f".{alias.name}"))
        return found

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.stmt]:
        found, module = [], node.module or "."
        for alias in node.names if module not in IGNORED else ():
            _check_module(module)
            if alias.name not in MODULES[module].names:
                raise Uncounted(f"{module}.{alias.name} is not counted here")
            found += _assign(alias.asname or alias.name, _load(f".{module}.{alias.name}"))
        return found

    def visit_FunctionDef(self, node: ast.FunctionDef) -> list[ast.stmt]:
        decorators = [_guard("decorate", self.visit(one)) for one in node.decorator_list]
        node.decorator_list, node.returns = [*decorators, _load(".function")], None
        self._rewrite_parameters(node.args)
        outside, self._in_function, self._in_try = (self._in_function, self._in_try), True, False
        node.body = self.rewrite_block(node.body)
        self._in_function, self._in_try = outside
        return [node]

    def visit_Assert(self, node: ast.Assert) -> list[ast.stmt]:
        test = ast.UnaryOp(ast.Not(), self.visit(node.test), **PLACE)
        error = _guard("AssertionError", *[self._charged(message) for message in (node.msg,) if message])
        return [ast.If(test, [ast.Raise(error, **PLACE)], [], **PLACE)]

    def visit_Raise(self, node: ast.Raise) -> list[ast.stmt]:
        node.exc, node.cause = node.exc and _guard("check_raised", self.visit(node.exc)), None
        return [node]

    def visit_Try(self, node: ast.Try) -> list[ast.stmt]:
        outside, self._in_try = self._in_try, True
        node.body, node.orelse = self.rewrite_block(node.body), self.rewrite_block(node.orelse)
        for handler in node.handlers:
            caught: ast.expr = _load(".Exception")
            if handler.type is not None:
                no_kind = ast.Tuple([], ast.Load(), **PLACE)
                caught = ast.IfExp(_guard("can_catch"), _guard("catch", self._charged(handler.type)), no_kind, **PLACE)
            handler.type, handler.body = caught, self.rewrite_block(handler.body)
        if node.finalbody:
            node.finalbody = [*_call("check_final"), *self.rewrite_block(node.finalbody)]
        self._in_try = outside
        return [node]

    # Targets.

    def _temporary(self) -> str:
        self._temporaries += 1
        return f".{self._temporaries}"

    def _store(self, target: ast.expr, value: ast.expr) -> list[ast.stmt]:
        """Assign a value. A name is free; another target costs a step for each of its nodes."""
        if isinstance(target, ast.Name):
            return _assign(target.id, value)
        if isinstance(target, ast.Subscript):
            return _call("set_item", value, self._charged(target.value), self._charged(target.slice, 1))
        if not isinstance(target, (ast.Tuple, ast.List)):
            raise Uncounted(_NO_ATTRIBUTES)
        later = []
        if not _holds_names(target):
            for place, part in enumerate(target.elts):
                name = self._temporary()
                if isinstance(part, ast.Starred):
                    later += self._store(part.value, _load(name))
                    part.value = _target(name)
                else:
                    later += self._store(part, _load(name))
                    target.elts[place] = _target(name)
        return [ast.Assign([target], _guard("unpack", value, _shape(target)), **PLACE), *later]

    def _delete(self, target: ast.expr) -> list[ast.stmt]:
        if isinstance(target, ast.Name):
            return [ast.Delete([target], **PLACE)]
        if isinstance(target, (ast.Tuple, ast.List)):
            return [one for part in target.elts for one in self._delete(part)]
        if isinstance(target, ast.Subscript):
            return _call("delete_item", self._charged(target.value), self._charged(target.slice, 1))
        raise Uncounted(_NO_ATTRIBUTES)

    # Expressions.

    def visit(self, node: ast.AST) -> Any:
        kind = type(node)
        if isinstance(node, ast.expr) and kind is not ast.Slice:
            self._cost += 1
        return getattr(self, f"visit_{kind.__name__}", self.generic_visit)(node)

    def _charged(self, node: ast.expr, more: int = 0) -> ast.expr:
        """Rewrite an expression so that it charges for itself, and ``more`` steps, before it is evaluated."""
        before, self._cost = self._cost, more
        value = self.visit(node)
        charged = ast.BoolOp(ast.And(), [_guard("charge", _constant(self._cost)), value], **PLACE)
        self._cost = before
        return charged

    def _values(self, nodes: Sequence[ast.expr]) -> list[ast.expr]:
        """Rewrite the values of a call or a display."""
        found = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                node.value = _guard("walk", self.visit(node.value))
                found.append(node)
            else:
                found.append(self.visit(node))
        return found

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        value = node.value
        if isinstance(value, (bytes, complex)) or value is ...:
            raise Uncounted(f"{type(value).__name__} is not counted here: use text, numbers and lists")
        if not isinstance(value, str) or len(value) < _LONG_TEXT:
            return node
        # Python would keep equal texts as one object, whose comparison with itself costs nothing.
        name = f".text.{len(self.texts)}"
        self.texts[name] = value
        return _load(name)

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
        return _guard("make_tuple", *node.elts) if is_constant else node

    def visit_Set(self, node: ast.Set) -> ast.expr:
        return _guard("make_set", *self._values(node.elts))

    def visit_Dict(self, node: ast.Dict) -> ast.expr:
        for place, (key, value) in enumerate(zip(node.keys, node.values)):
            node.keys[place] = key and _guard("weigh", self.visit(key))
            node.values[place] = self.visit(value) if key else _guard("check_mapping", self.visit(value))
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        return _guard(type(node.op).__name__, self.visit(node.left), self.visit(node.right))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        node.operand = self.visit(node.operand)
        return node if isinstance(node.op, ast.Not) else _guard(type(node.op).__name__, node.operand)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        node.values = [self.visit(node.values[0]), *map(self._charged, node.values[1:])]
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        left, right = self.visit(node.left), self.visit(node.comparators[0])
        first, *operations = [type(op).__name__ for op in node.ops]
        *middle, last = node.comparators
        if not middle:
            return _guard(first, left, right)
        if all([isinstance(value, (ast.Name, ast.Constant)) for value in middle]) or _assigns(node.comparators):
            right, again = self._keep(right)
            parts: list[ast.expr] = [_guard(first, left, right)]
            for operation, value in zip(operations, node.comparators[1:]):
                before, self._cost = self._cost, 0
                right, following = self._keep(self.visit(value)) if value is not last else (self.visit(value), last)
                parts += [_guard("charge", _constant(self._cost)), _guard(f"then {operation}", again, right)]
                self._cost, again = before, following
            return ast.BoolOp(ast.And(), parts, **PLACE)
        # The loops of a comprehension must not assign, so that the operands cannot be kept in temporary variables.
        nothing = ast.arguments([], [], None, [], [], None, [])
        later = [ast.Lambda(nothing, self._charged(value), **PLACE) for value in node.comparators[1:]]
        return _guard("compare_chain", left, right, _constant((first, *operations)), *later)

    def _keep(self, value: ast.expr) -> tuple[ast.expr, ast.expr]:
        """Return an expression, and one that reads its value again."""
        if isinstance(value, (ast.Name, ast.Constant)):
            return value, value
        name = self._temporary()
        return ast.NamedExpr(_target(name), value, **PLACE), _load(name)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        node.test, node.body, node.orelse = self.visit(node.test), self._charged(node.body), self._charged(node.orelse)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        return _guard("get_item", self.visit(node.value), self.visit(node.slice))

    def visit_Slice(self, node: ast.Slice) -> ast.expr:
        bounds = (node.lower, node.upper, node.step)
        return _guard("slice", *[_constant(None) if bound is None else self.visit(bound) for bound in bounds])

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return _guard("attribute", self.visit(node.value), _constant(node.attr))

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        node.value = self.visit(node.value)
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        return _guard("join_text", *map(self.visit, node.values))

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.expr:
        value = self.visit(node.value)
        form = self.visit(node.format_spec) if node.format_spec else _constant("")
        return _guard("format_value", value, form, _constant("" if node.conversion < 0 else chr(node.conversion)))

    def visit_Call(self, node: ast.Call) -> ast.expr:
        function, given = node.func, []
        if isinstance(function, ast.Attribute):
            self._cost += 1
            node.func = _guard("method", self.visit(function.value), _constant(function.attr))
        elif isinstance(function, ast.Name) and function.id not in self.bound and _is_function(function.id):
            self._cost += 1
            node.func = _load(f".builtin.{function.id}")
        else:
            node.func, given = _load(".call"), [self.visit(function)]
        node.args = given + self._values(node.args)
        for option in node.keywords:
            value = self.visit(option.value)
            option.value = value if option.arg else _guard("check_options", value)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        self._rewrite_parameters(node.args)
        node.body = self._charged(node.body)
        return _guard("function", node)

    def _rewrite_parameters(self, given: ast.arguments) -> None:
        """Rewrite the defaults, and omit the annotations."""
        given.defaults = [self.visit(value) for value in given.defaults]
        given.kw_defaults = [value and self.visit(value) for value in given.kw_defaults]
        for one in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
            if one is not None:
                one.annotation = None

    def visit_ListComp(self, node: ast.ListComp | ast.GeneratorExp) -> ast.expr:
        node.elt = self._charged(node.elt, self._rewrite_loops(node.generators))
        return node

    visit_GeneratorExp = visit_ListComp

    def visit_SetComp(self, node: ast.SetComp) -> ast.expr:
        node.elt = _guard("weigh", self._charged(node.elt, self._rewrite_loops(node.generators)))
        return node

    def visit_DictComp(self, node: ast.DictComp) -> ast.expr:
        node.key = _guard("weigh", self._charged(node.key, self._rewrite_loops(node.generators)))
        node.value = self._charged(node.value)
        return node

    def _rewrite_loops(self, loops: Sequence[ast.comprehension]) -> int:
        """Rewrite the loops of a comprehension, and return the step of a turn that the element has to charge. If there
        is a condition or an inner loop, it charges this step."""
        turn = 0
        for place, loop in enumerate(loops):
            if loop.is_async:
                raise Uncounted("async is not counted here: use for")
            loop.iter = _guard("iterate", self._charged(loop.iter, turn) if place else self.visit(loop.iter))
            turn = 1
            if not isinstance(loop.target, ast.Name):
                if not _holds_names(loop.target):
                    raise Uncounted("items as targets of a comprehension are not counted here: use a loop")
                loop.iter, turn = _guard("rows", loop.iter, _shape(loop.target)), 0
            for index, test in enumerate(loop.ifs):
                loop.ifs[index], turn = self._charged(test, turn), 0
        return turn


# Nodes.


@functools.lru_cache(1_024)
def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load(), **PLACE)


def _target(name: str) -> ast.Name:
    return ast.Name(name, ast.Store(), **PLACE)


def _constant(value: Any) -> ast.Constant:
    return ast.Constant(value, **PLACE)


def _guard(name: str, *given: ast.expr) -> ast.Call:
    return ast.Call(_load(f".{name}"), [*given], [], **PLACE)


def _call(name: str, *given: ast.expr) -> list[ast.stmt]:
    return [ast.Expr(_guard(name, *given), **PLACE)]


@functools.lru_cache(1_024)
def _charge(steps: int) -> Sequence[ast.stmt]:
    return _call("charge", _constant(steps)) if steps else ()


def _assign(name: str, value: ast.expr) -> list[ast.stmt]:
    return [ast.Assign([_target(name)], value, **PLACE)]


def _shape(target: Any) -> ast.Constant:
    """Describe the parts of a target for `guards.unpack`."""
    return _constant(_describe(target.elts))


def _describe(parts: Sequence[ast.expr]) -> tuple[Any, ...]:
    """Return the number of parts, whether one is starred, and the places and descriptions of those with parts."""
    starred = [place for place, part in enumerate(parts) if isinstance(part, ast.Starred)]
    inner = [
        (place - len(parts) if starred and place > starred[0] else place, _describe(part.elts))
        for place, part in enumerate(parts)
        if isinstance(part, (ast.Tuple, ast.List))
    ]
    return len(parts), bool(starred), tuple(inner)


def _holds_names(target: ast.AST) -> bool:
    """Check that a target consists of names only."""
    allowed = (ast.Name, ast.Tuple, ast.List, ast.Starred, ast.expr_context)
    return all([isinstance(part, allowed) for part in ast.walk(target)])


def _assigns(nodes: Sequence[ast.expr]) -> bool:
    return any([isinstance(part, ast.NamedExpr) for node in nodes for part in ast.walk(node)])


def _bound_names(tree: ast.AST) -> set[str]:
    """List the names to which a program assigns anything."""
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
            elif isinstance(node, (ast.FunctionDef, ast.ExceptHandler)):
                found.add(node.name or "")
            elif isinstance(node, ast.arg):
                found.add(node.arg)
            waiting += [getattr(node, field) for field in node._fields]
    for name in found:
        _check_name(name)
    return found


def _check_name(name: str) -> None:
    # Python would look up the guards in a dictionary of this name.
    if name == "__builtins__":
        raise Uncounted("__builtins__ is not counted here")


def _is_function(name: str) -> bool:
    return type(BUILTINS.get(name)) is Builtin


def _check_module(name: str) -> None:
    if name not in MODULES:
        raise Uncounted(f"the module {name} is not counted here: use {', '.join(MODULES)}")
