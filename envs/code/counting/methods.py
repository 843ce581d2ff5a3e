"""Methods of values by their types, with their costs. A program can reach nothing else of a value."""

from __future__ import annotations

import collections
from collections.abc import Iterable
from typing import Any

from .comparisons import find_position
from .items import count_moved
from .meter import MAPPINGS, Meter, Uncounted, ceil_log2, charge_each, size, walk, walk_keys, weight
from .sorting import sort_in_place
from .text_methods import TEXT, Method, charge_by, no_cost
from .values import Builtin, Module


def attribute(meter: Meter, owner: Any, name: str) -> Any:
    """Return ``owner.name`` if it is a method, a name of a module, or the arguments of an exception.

    Raises:
        AttributeError: Python has no such attribute.
        Uncounted: Python has the attribute, but it is not supported here.
    """
    if type(owner) is Module:
        if name not in owner.names:
            raise Uncounted(f"{owner.name}.{name} is not counted here")
        return owner.names[name]
    if isinstance(owner, Exception) and name == "args":
        return owner.args
    of_type = owner.kind if type(owner) is Builtin else None
    kind = of_type or type(owner)
    if of_type and (kind, name) in STATIC:
        return Builtin(name, STATIC[kind, name])
    method = METHODS.get(kind, {}).get(name)
    if method is None:
        raise missing_method(kind, name)
    if of_type:
        return Builtin(name, _make_unbound_method(kind, name, method))
    return Builtin(name, lambda meter, /, *given, **options: method(meter, owner, *given, **options))


def _make_unbound_method(kind: type, name: str, method: Method) -> Method:
    def run(meter: Meter, owner: Any, /, *given: Any, **options: Any) -> Any:
        if not isinstance(owner, kind):
            raise TypeError(f"descriptor requires a {kind.__name__!r} object but received a {type(owner).__name__!r}")
        return METHODS[type(owner)].get(name, method)(meter, owner, *given, **options)

    return run


def missing_method(kind: type, name: str) -> BaseException:
    """Return the exception for a missing method: Uncounted if Python has the method, else AttributeError."""
    if name.startswith("__") or hasattr(kind, name):
        return Uncounted(f"{kind.__name__}.{name} is not counted here")
    return AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")


# Lists, tuples, deques.


def _insert(meter: Meter, items: Any, place: int, item: Any, /) -> None:
    meter.charge(count_moved(items, place) if type(items) is list and isinstance(place, int) else len(items))
    items.insert(place, item)


def _pop(meter: Meter, items: list[Any], place: int = -1, /) -> Any:
    if isinstance(place, int):
        meter.charge(count_moved(items, place))
    return items.pop(place)


def _index(meter: Meter, items: Any, item: Any, /, *ends: int) -> int:
    place = find_position(meter, item, items, *ends)
    if place is None:
        raise ValueError(f"{item!r} is not in list" if type(item) in (int, str) else "that is not in list")
    return place


_ITEMS: dict[str, Method] = {
    "index": _index,
    "count": lambda meter, items, item, /: meter.charge(len(items) * (1 + weight(meter, item))) and items.count(item),
}
_ROW: dict[str, Method] = {
    **_ITEMS,
    "append": charge_by(no_cost, list.append),
    "extend": lambda meter, items, more, /: items.extend(
        list(walk(meter, more)) if more is items else walk(meter, more)
    ),
    "insert": _insert,
    "remove": lambda meter, items, item, /: meter.charge(len(items) * (1 + weight(meter, item))) and items.remove(item),
    **{name: charge_by(len, getattr(list, name)) for name in ("reverse", "copy", "clear")},
}
_LIST = {
    **_ROW,
    "pop": _pop,
    "sort": lambda meter, items, /, *, key=None, reverse=False: sort_in_place(meter, items, key, reverse),
}
_DEQUE = {
    **_ROW,
    **{
        name: charge_by(no_cost, getattr(collections.deque, name))
        for name in ("append", "appendleft", "pop", "popleft")
    },
    **{name: charge_by(len, getattr(collections.deque, name)) for name in ("reverse", "copy", "clear")},
    "extendleft": lambda meter, items, more, /: items.extendleft(list(walk(meter, more))),
    "rotate": charge_by(
        lambda items, *n: min(abs(n[0]) if n and isinstance(n[0], int) else 1, len(items)), collections.deque.rotate
    ),
}


# Sets and dicts.


def _charge_key(method: Method) -> Method:
    """Wrap a method to charge for hashing its first argument."""

    def run(meter: Meter, owner: Any, /, *given: Any) -> Any:
        meter.charge(weight(meter, given[0]) if given else 0)
        return method(owner, *given)

    return run


def _with_others(name: str) -> Method:
    """Make a method of sets that charges for the items of the other sets and, for some methods, of the set itself."""
    makes_one = name in ("union", "difference", "symmetric_difference", "issubset", "isdisjoint")

    def run(meter: Meter, owner: Any, /, *others: Any) -> Any:
        meter.charge(len(owner) if makes_one else 0)
        taken = [list(walk_keys(meter, other)) if type(other) not in (set, frozenset) else other for other in others]
        meter.charge(sum(len(other) for other in taken if type(other) is not list))
        return getattr(type(owner), name)(owner, *taken)

    return run


_SET_OF_ANY = {
    name: _with_others(name)
    for name in ("union", "intersection", "difference", "symmetric_difference", "issubset", "issuperset", "isdisjoint")
}
_SET = {
    **_SET_OF_ANY,
    **{
        name: _with_others(name)
        for name in ("update", "intersection_update", "difference_update", "symmetric_difference_update")
    },
    **{name: _charge_key(getattr(set, name)) for name in ("add", "discard", "remove")},
    "pop": charge_by(no_cost, set.pop),
    **{name: charge_by(len, getattr(set, name)) for name in ("copy", "clear")},
}
_FROZENSET = {**_SET_OF_ANY, "copy": charge_by(no_cost, frozenset.copy)}


def key_value_pairs(meter: Meter, source: Any) -> Iterable[tuple[Any, Any]]:
    """List the keys and values of a dict, or of an iterable of pairs, and charge for them."""
    if type(source) in MAPPINGS:
        meter.charge(len(source))
        return list(source.items())
    found = []
    for pair in walk(meter, source):
        key, value = walk(meter, pair)
        meter.charge(weight(meter, key))
        found.append((key, value))
    return found


def _update(meter: Meter, owner: Any, source: Any = (), /, **options: Any) -> None:
    for key, value in key_value_pairs(meter, source):
        owner[key] = value
    owner.update(options)


def add_counts(meter: Meter, owner: Any, source: Any, sign: int, options: dict[str, int]) -> None:
    """Add ``sign`` times the counts of a mapping, or of items, to a Counter, and charge for them."""
    given = (
        key_value_pairs(meter, source) if type(source) in MAPPINGS else [(key, 1) for key in walk_keys(meter, source)]
    )
    for key, count in (*given, *options.items()):
        owner[key] = owner[key] + sign * count


def _most_common(meter: Meter, owner: Any, count: int | None = None, /) -> list[tuple[Any, int]]:
    meter.charge(len(owner) * (1 + ceil_log2(len(owner) if count is None else max(min(count, len(owner)), 1))))
    return owner.most_common(count)


_DICT = {
    **{name: _charge_key(getattr(dict, name)) for name in ("get", "pop", "setdefault")},
    **{name: charge_by(no_cost, getattr(dict, name)) for name in ("keys", "values", "items", "popitem")},
    "copy": lambda meter, owner, /: meter.charge(len(owner)) and owner.copy(),
    "clear": charge_by(len, dict.clear),
    "update": _update,
}
_COUNTER = {
    **_DICT,
    "update": lambda meter, owner, source=(), /, **options: add_counts(meter, owner, source, 1, options),
    "subtract": lambda meter, owner, source=(), /, **options: add_counts(meter, owner, source, -1, options),
    "most_common": _most_common,
    "elements": lambda meter, owner, /: charge_each(meter, owner.elements()),
    "total": charge_by(len, collections.Counter.total),
}


# Numbers.

_WHOLE = {
    "bit_length": charge_by(no_cost, int.bit_length),
    "bit_count": charge_by(lambda number: number.bit_length() // 64, int.bit_count),
    "conjugate": charge_by(no_cost, int.conjugate),
}
METHODS: dict[type, dict[str, Method]] = {
    str: TEXT,
    list: _LIST,
    tuple: _ITEMS,
    range: {"index": charge_by(no_cost, range.index), "count": charge_by(no_cost, range.count)},
    collections.deque: _DEQUE,
    set: _SET,
    frozenset: _FROZENSET,
    dict: _DICT,
    collections.defaultdict: _DICT,
    collections.Counter: _COUNTER,
    int: _WHOLE,
    bool: _WHOLE,
    float: {"is_integer": charge_by(no_cost, float.is_integer)},
}


STATIC: dict[tuple[type, str], Method] = {
    (dict, "fromkeys"): lambda meter, source, value=None, /: dict.fromkeys(walk_keys(meter, source), value),
    (str, "maketrans"): lambda meter, /, *given: meter.charge(sum(map(size, given))) and str.maketrans(*given),
}
