"""Translation of comprehensions of all four kinds, each with its scope."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .meter import OutOfWork, Uncounted, iterator, weight
from .scopes import Scope, comprehension_scope
from .targets import translate_assignment
from .translating import EXPRESSIONS, Counted, translate_expression, translate_self_charging
from .values import AROUND, Frame


def _comprehension(node: Any, scope: Scope) -> Counted:
    meter = scope.meter
    first = node.generators[0]
    inner = comprehension_scope(scope, [source.target for source in node.generators])
    source, cost = translate_expression(first.iter, scope)
    rows = _rows(node.generators, inner)
    if isinstance(node, ast.DictComp):
        key, value = translate_self_charging(node.key, inner), translate_self_charging(node.value, inner)

        def a_dict(frame: Frame) -> dict[Any, Any]:
            found: dict[Any, Any] = {}
            own: Frame = {AROUND: frame}
            for _ in rows(own, iterator(source(frame))):
                one = key(own)
                meter.charge(weight(meter, one))
                found[one] = value(own)
            return found

        return a_dict, 1 + cost
    element = translate_self_charging(node.elt, inner)
    if isinstance(node, ast.GeneratorExp):

        def lazily(own: Frame, values: Iterator[Any]) -> Iterator[Any]:
            for _ in rows(own, values):
                yield element(own)

        return lambda frame: lazily({AROUND: frame}, iterator(source(frame))), 1 + cost
    if isinstance(node, ast.ListComp):

        def a_list(frame: Frame) -> list[Any]:
            own: Frame = {AROUND: frame}
            return [element(own) for _ in rows(own, iterator(source(frame)))]

        return a_list, 1 + cost

    def a_set(frame: Frame) -> set[Any]:
        own: Frame = {AROUND: frame}
        found: set[Any] = set()
        for _ in rows(own, iterator(source(frame))):
            value = element(own)
            meter.charge(weight(meter, value))
            found.add(value)
        return found

    return a_set, 1 + cost


def _rows(generators: Sequence[ast.comprehension], scope: Scope) -> Callable[[Frame, Iterator[Any]], Iterator[None]]:
    """Return a generator function that assigns the values to the targets, one turn each. A turn costs a step."""
    meter, here, rest = scope.meter, generators[0], generators[1:]
    if here.is_async:
        raise Uncounted("async is not counted here: use for")
    keep, tests = translate_assignment(here.target, scope), [translate_self_charging(test, scope) for test in here.ifs]
    again = _rows(rest, scope) if rest else None
    source = translate_self_charging(rest[0].iter, scope) if rest else None

    def run(frame: Frame, values: Iterator[Any]) -> Iterator[None]:
        for value in values:
            meter.left -= 1
            if meter.left < 0:
                raise OutOfWork
            keep(frame, value)
            for test in tests:
                if not test(frame):
                    break
            else:
                if again is None or source is None:
                    yield None
                else:
                    yield from again(frame, iterator(source(frame)))

    return run


EXPRESSIONS.update(dict.fromkeys((ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp), _comprehension))
