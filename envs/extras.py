"""`Extras`: the mapping ``info["extras"]`` with lazily computed values.

A worked solution can take longer to make than the task itself, and most readers of ``info`` never look at it. The
mapping therefore holds the values that are known at once and a function that computes each other value when it is first
read. Copies and pickles stay lazy: an ``info`` that a vector environment sends to another process is computed there,
when it is read. ``json.dumps(info, default=dict)`` writes an ``info`` with all its extras.
"""

from __future__ import annotations

import functools
import pickle
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

Compute = Callable[[Any, str], Any]
"""Function (subject, name) -> value. The subject is the `Task` of a question, or the `Past` of a game."""


class Extras(Mapping[str, Any]):
    """Named values of one reset or step; equal to any mapping of the same names to the same values.

    Args:
        names: names of the values; further names in ``values`` count too.
        values: the known values; the dict is kept, not copied, and computed values are stored in it.
        compute: called at most once for each name that is not in ``values``; must give the same value whenever it is
            called. None: such names have the value None.
        subject: the first argument of ``compute``; pickled together with ``compute``.
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
        """Show known values; a value that has not been computed yet is shown as three dots."""
        shown = (f"{name!r}: {self._values[name]!r}" if name in self._values else f"{name!r}: ..." for name in self)
        return f"Extras({{{', '.join(shown)}}})"

    def __reduce__(self) -> tuple[Any, ...]:
        if self._compute is not None and not self._values.keys() >= set(self._names):
            try:
                return Extras, (self._names, dict(self._values), _pack(self._compute), self._subject)
            except (pickle.PicklingError, AttributeError, TypeError):
                pass  # pickle cannot find the function or class by its name: send the computed values instead
        return Extras, (self._names, dict(self))


class _PickledCompute:
    """A pickled `Compute`, unpickled when it is called."""

    __slots__ = ("__weakref__", "_data")

    def __init__(self, data: bytes):
        self._data = data

    def __call__(self, subject: Any, name: str) -> Any:
        return _unpickle(self._data)(subject, name)


_unpickle = functools.lru_cache(maxsize=64)(pickle.loads)
_packed: weakref.WeakKeyDictionary[Any, _PickledCompute] = weakref.WeakKeyDictionary()
"""Pickled `Compute` of each environment, made once: later steps change nothing in the environment that it reads."""


def _pack(compute: Compute) -> _PickledCompute:
    if isinstance(compute, _PickledCompute):
        return compute
    owner = getattr(compute, "__self__", compute)
    if owner not in _packed:
        _packed[owner] = _PickledCompute(pickle.dumps(compute))
    return _packed[owner]
