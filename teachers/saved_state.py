"""Saved states of teachers and of their parts.

A class lists in ``kept`` the attributes that its saved state holds; attributes of base classes come first. Values are
written as JSON-able values and restored to the type of the attribute's current value: arrays (same shape and dtype),
numbers, strings, and parts that have ``save`` and ``restore``. Lists, deques, dicts and tuples need a declared type
(`Kept.form`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NamedTuple, get_args, get_origin

import numpy as np


class Kept(NamedTuple):
    """An entry of a saved state.

    Attributes:
        attribute: name of the attribute; several names are saved as one list.
        form: type of a collection, such as ``dict[int, list[float]]``, or of a number whose current value has another
            type. A deque keeps its current maximum length; a dict is saved as a list of pairs.
        key: key in the saved state; by default the attribute's name without a leading underscore.
    """

    attribute: str | tuple[str, ...]
    form: Any = None
    key: str = ""


class SavedState:
    """Base of parts of a teacher that are saved by the attributes in ``kept``."""

    kept: ClassVar[tuple[str | Kept, ...]] = ()

    def save(self) -> dict[str, Any]:
        return save_kept(self)

    def restore(self, saved: Mapping[str, Any]) -> None:
        restore_kept(self, saved)


def save_kept(owner: Any) -> dict[str, Any]:
    """Return the attributes in ``kept`` of a teacher or part as JSON-able values."""
    saved = {}
    for key, attribute, _ in _entries(owner):
        names = (attribute,) if isinstance(attribute, str) else attribute
        values = [_plain(getattr(owner, name)) for name in names]
        saved[key] = values[0] if isinstance(attribute, str) else values
    return saved


def restore_kept(owner: Any, saved: Mapping[str, Any]) -> None:
    """Set the attributes in ``kept`` from a dict of `save_kept`.

    A damaged state raises KeyError, TypeError, ValueError or IndexError and may leave some attributes set.
    """
    for key, attribute, form in _entries(owner):
        names, values = ((attribute,), (saved[key],)) if isinstance(attribute, str) else (attribute, saved[key])
        for name, value in zip(names, values, strict=True):
            setattr(owner, name, _restore_value(value, getattr(owner, name), form))


def restore_array(saved: Any, like: np.ndarray) -> np.ndarray:
    """Return saved numbers as an array of the shape and dtype of ``like``. Raises ValueError for another shape, or for
    a number that is not finite."""
    array = np.array(saved, dtype=like.dtype)
    if array.shape != like.shape or not np.isfinite(array).all():
        raise ValueError(f"saved numbers of shape {array.shape}, not {like.shape}, or not finite")
    return array


def _entries(owner: Any) -> Iterator[tuple[str, str | tuple[str, ...], Any]]:
    for cls in reversed(type(owner).__mro__):
        for entry in vars(cls).get("kept", ()):
            attribute, form, key = Kept(entry) if isinstance(entry, str) else entry
            yield key or str(attribute).removeprefix("_"), attribute, form


def _plain(value: Any) -> Any:
    if hasattr(value, "restore"):
        return value.save()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return [[key, _plain(one)] for key, one in value.items()]
    return [_plain(one) for one in value] if isinstance(value, list | tuple | deque) else value


def _restore_value(saved: Any, present: Any, form: Any) -> Any:
    if hasattr(present, "restore"):
        present.restore(saved)
        return present
    if isinstance(present, np.ndarray):
        return restore_array(saved, present)
    if isinstance(present, deque):
        return deque(_of_form(saved, form), maxlen=present.maxlen)
    return _of_form(saved, form or (float if isinstance(present, float) else type(present)))


def _of_form(saved: Any, form: Any) -> Any:
    kind, parts = get_origin(form) or form, get_args(form)
    if kind is dict:
        return {_of_form(key, parts[0]): _of_form(value, parts[1]) for key, value in saved}
    if kind is tuple:
        return tuple(_of_form(value, part) for value, part in zip(saved, parts, strict=True))
    if kind in (list, deque):
        return kind(_of_form(value, parts[0]) for value in saved)
    return kind(saved)
