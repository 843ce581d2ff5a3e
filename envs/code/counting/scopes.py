"""Scopes: the frame that each name refers to. As in Python, names are resolved before a program runs."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .functions import BUILTINS
from .meter import Meter
from .values import Frame

FUNCTIONS = (ast.FunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Scope:
    """The scope of a module, a function or a comprehension.

    Attributes:
        names: the names that the scope binds itself.
        declared: the names that it declares global.
        outer: the scope around it; None for a module.
        everywhere: the frame of the module.
    """

    def __init__(self, meter: Meter, everywhere: Frame, outer: Scope | None, names: set[str], declared: set[str]):
        self.meter, self.everywhere, self.outer = meter, everywhere, outer
        self.names, self.declared = names, declared
        self.comprehension = False

    def hops(self, name: str) -> int:
        """Count the frames between this one and the one that binds a name; -1 stands for the module's."""
        count, scope = 0, self
        while scope.outer is not None:
            if name in scope.declared:
                return -1
            if name in scope.names:
                return count
            count, scope = count + 1, scope.outer
        return -1

    def hops_outside(self, name: str) -> int:
        """Count as `hops` for a name bound by :=, which a comprehension binds in the enclosing scope."""
        count, scope = 0, self
        while scope.comprehension and scope.outer is not None:
            count, scope = count + 1, scope.outer
        found = scope.hops(name)
        return found if found < 0 else found + count


def function_scope(outer: Scope, parameters: Sequence[str], nodes: Iterable[ast.AST]) -> Scope:
    """Make the scope of a function; ``nodes`` are those `within` its body."""
    bound, everywhere, around = set(parameters), set(), set()
    for node in nodes:
        if isinstance(node, ast.Global):
            everywhere.update(node.names)
        elif isinstance(node, ast.Nonlocal):
            around.update(node.names)
        else:
            bound.update(_bound_by(node))
    return Scope(outer.meter, outer.everywhere, outer, bound - everywhere - around, everywhere)


def comprehension_scope(outer: Scope, targets: Sequence[ast.expr]) -> Scope:
    bound = {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    scope = Scope(outer.meter, outer.everywhere, outer, bound, set())
    scope.comprehension = True
    return scope


def within(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """Iterate over the nodes of a function's body, without the nodes of inner functions. Of a comprehension, only names
    that it binds outside itself, by :=, are included."""
    waiting = [(node, False) for node in body]
    while waiting:
        node, inner = waiting.pop()
        if not inner or isinstance(node, ast.NamedExpr):
            yield node
        if isinstance(node, ast.FunctionDef):
            waiting += [(one, inner) for one in (*node.decorator_list, *node.args.defaults)]
        elif not isinstance(node, ast.Lambda):
            inner = inner or isinstance(node, COMPREHENSIONS)
            waiting += [(child, inner) for child in ast.iter_child_nodes(node)]


def _bound_by(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
        return [node.id]
    if isinstance(node, ast.NamedExpr):
        return [node.target.id]
    if isinstance(node, ast.FunctionDef):
        return [node.name]
    if isinstance(node, ast.ExceptHandler):
        return [node.name] if node.name else []
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [(alias.asname or alias.name).split(".")[0] for alias in node.names]
    return []


# Loading, storing and deleting.


def name_reader(scope: Scope, name: str) -> Any:
    """Return a function ``run(frame)`` that reads a name."""
    hops, everywhere = scope.hops(name), scope.everywhere

    def own(frame: Frame) -> Any:
        try:
            return frame[name]
        except KeyError:
            raise UnboundLocalError(f"cannot access local variable {name!r}") from None

    def around(frame: Frame) -> Any:
        for _ in range(hops):
            frame = frame[""]
        try:
            return frame[name]
        except KeyError:
            raise NameError(f"cannot access free variable {name!r}") from None

    def anywhere(_: Frame) -> Any:
        if name in everywhere:
            return everywhere[name]
        if name in BUILTINS:
            return BUILTINS[name]
        raise NameError(f"name {name!r} is not defined")

    return own if hops == 0 else around if hops > 0 else anywhere


def name_writer(scope: Scope, name: str, hops: int | None = None) -> Any:
    """Return a function ``run(frame, value)`` that assigns a value to a name."""
    everywhere = scope.everywhere
    hops = scope.hops(name) if hops is None else hops

    def own(frame: Frame, value: Any) -> None:
        frame[name] = value

    def around(frame: Frame, value: Any) -> None:
        for _ in range(hops):
            frame = frame[""]
        frame[name] = value

    def anywhere(_: Frame, value: Any) -> None:
        everywhere[name] = value

    return own if hops == 0 else around if hops > 0 else anywhere


def name_deleter(scope: Scope, name: str) -> Any:
    """Return a function ``run(frame)`` that deletes a name."""
    hops, everywhere = scope.hops(name), scope.everywhere

    def run(frame: Frame) -> None:
        for _ in range(hops):
            frame = frame[""]
        if (frame if hops >= 0 else everywhere).pop(name, run) is run:
            error = UnboundLocalError if hops == 0 else NameError
            raise error(f"name {name!r} is not defined")

    return run
