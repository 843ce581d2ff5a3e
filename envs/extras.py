"""`Extras`: the mapping ``info["extras"]`` with lazily computed values.

A worked solution can take longer to make than the task itself, and most readers of ``info`` never look at it. The
mapping therefore holds what is known at once, and the function that computes the rest. So does a copy (by pickle, or
`copy`): an ``info`` that a vector environment sends to another process computes nothing before somebody reads it there.
``json.dumps(info, default=dict)`` writes an ``info`` with it.
"""

from __future__ import annotations

import functools
import pickle
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

Compute = Callable[[Any, str], Any]
"""(subject, name) -> value. The subject is a task, or what a game keeps of an episode up to one of its steps."""


class Extras(Mapping[str, Any]):
    """Named values of one reset or step; equal to any mapping of the same names to the same values.

    Args:
        names: all names; ``values`` may have further ones.
        values: the known values; not copied, and extended with computed values.
        compute: called at most once for each name that is not in ``values``; it must give the same value whenever it is
            called. With None such names have the value None.
        subject: the first argument of ``compute``; copied with it.
    """

    __slots__ = ("_compute", "_names", "_subject", "_values")

    def __init__(
        self,
        names: Collection[str] = (),
        values: dict[str, Any] | None = None,
        compute: Compute | None = None,
        subject: Any = None,
    ):
        self._names = names
        self._values = {} if values is None else values
        self._compute = compute
        self._subject = subject

    def __getitem__(self, name: str) -> Any:
        values = self._values
        if name in values:
            return values[name]
        if name not in self._names:
            raise KeyError(name)
        value = values[name] = None if self._compute is None else self._compute(self._subject, name)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*self._names, *self._values}))

    def __len__(self) -> int:
        return len({*self._names, *self._values})

    def __contains__(self, name: object) -> bool:
        return name in self._values or name in self._names

    def __repr__(self) -> str:
        """Show what has been computed; the other names with three dots."""
        shown = (f"{name!r}: {self._values[name]!r}" if name in self._values else f"{name!r}: ..." for name in self)
        return f"Extras({{{', '.join(shown)}}})"

    def __reduce__(self) -> tuple[Any, ...]:
        if self._compute is not None and not self._values.keys() >= set(self._names):
            try:
                return Extras, (self._names, dict(self._values), _pack(self._compute), self._subject)
            except (pickle.PicklingError, AttributeError, TypeError):
                pass  # a function or class without a name of its own; its values can be sent all the same
        return Extras, (self._names, dict(self))


class _PickledCompute:
    """A `Compute` as bytes: it is made from them where a value is read."""

    __slots__ = ("__weakref__", "_data")

    def __init__(self, data: bytes):
        self._data = data

    def __call__(self, subject: Any, name: str) -> Any:
        return _unpickle(self._data)(subject, name)


_unpickle = functools.lru_cache(maxsize=64)(pickle.loads)
_packed: weakref.WeakKeyDictionary[Any, _PickledCompute] = weakref.WeakKeyDictionary()
"""Cache by environment: it is pickled at its first step only, as later steps change nothing relevant."""


def _pack(compute: Compute) -> _PickledCompute:
    if isinstance(compute, _PickledCompute):
        return compute
    owner = getattr(compute, "__self__", compute)
    if owner not in _packed:
        _packed[owner] = _PickledCompute(pickle.dumps(compute))
    return _packed[owner]
