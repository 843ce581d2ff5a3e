"""Translation of the targets of assignments and deletions: names, items, and several of these at once."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from .items import delete_item, set_item
from .meter import SIZED, Uncounted, iterator, walk
from .scopes import Scope, name_deleter, name_writer
from .translating import translate_self_charging
from .values import Frame

Store = Callable[[Frame, Any], None]


def translate_assignment(node: ast.expr, scope: Scope) -> Store:
    """Return a function ``run(frame, value)``. A name is free; another target costs a step for each of its nodes."""
    if isinstance(node, ast.Name):
        return name_writer(scope, node.id)
    if isinstance(node, (ast.Tuple, ast.List)):
        return _translate_unpacking(node, scope)
    if isinstance(node, ast.Subscript):
        meter = scope.meter
        box, key = translate_self_charging(node.value, scope), translate_self_charging(node.slice, scope)

        def put(frame: Frame, value: Any) -> None:
            owner = box(frame)
            meter.charge(1)
            set_item(meter, owner, key(frame), value)

        return put
    raise Uncounted("attributes of values are not counted here: use a dict or a list")


def _translate_unpacking(node: ast.Tuple | ast.List, scope: Scope) -> Store:
    meter, count = scope.meter, len(node.elts)
    stars = [place for place, part in enumerate(node.elts) if isinstance(part, ast.Starred)]
    stores = [translate_assignment(part.value if isinstance(part, ast.Starred) else part, scope) for part in node.elts]

    def values_of(value: Any) -> list[Any]:
        if type(value) in SIZED and not stars:
            meter.charge(count)
            if len(value) != count:
                raise ValueError(f"{count} values to unpack were expected, not {len(value)}")
            return list(value)
        if stars:
            return list(walk(meter, value))
        # At most one value more than expected is read.
        found, source = [], iterator(value)
        for item in source:
            meter.charge(1)
            found.append(item)
            if len(found) > count:
                break
        if len(found) != count:
            raise ValueError(f"{count} values to unpack were expected")
        return found

    def put(frame: Frame, value: Any) -> None:
        values = values_of(value)
        if stars:
            first, rest = stars[0], count - 1
            if len(values) < rest:
                raise ValueError(f"at least {rest} values to unpack were expected, not {len(values)}")
            last = len(values) - (rest - first)
            values[first:last] = [values[first:last]]
        for keep, part in zip(stores, values):
            keep(frame, part)

    return put


def translate_deletion(node: ast.expr, scope: Scope) -> Callable[[Frame], None]:
    if isinstance(node, ast.Name):
        return name_deleter(scope, node.id)
    if isinstance(node, (ast.Tuple, ast.List)):
        parts = [translate_deletion(part, scope) for part in node.elts]

        def all_of_them(frame: Frame) -> None:
            for part in parts:
                part(frame)

        return all_of_them
    if isinstance(node, ast.Subscript):
        meter = scope.meter
        box, key = translate_self_charging(node.value, scope), translate_self_charging(node.slice, scope)

        def item(frame: Frame) -> None:
            owner = box(frame)
            meter.charge(1)
            delete_item(meter, owner, key(frame))

        return item
    raise Uncounted("attributes of values are not counted here: use a dict or a list")
