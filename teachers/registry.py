"""Teachers by name: ``make("alp-gmm", space, seed=0)``. Other distributions join through ``palaestra.teachers``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..registry import Registry
from .protocol import Teacher

T = TypeVar("T", bound=type[Teacher])

TEACHERS: Registry[Callable[..., Teacher]] = Registry("teacher", group="palaestra.teachers")


def register(name: str) -> Callable[[T], T]:
    """Class decorator that adds a teacher under ``name``; its constructor takes ``(space, *, seed=0, ...)``."""
    return TEACHERS.register(name)


def make(name: str, space: Any, seed: int = 0, **kwargs: Any) -> Teacher:
    """A teacher for a task space.

    Args:
        name: a registered name ("random", "alp-gmm", "sec" ...).
        space: a `ParamSpace`, a bounded Gymnasium `Box`, or a `Discrete`.
        seed: of the teacher's own generator.
        kwargs: the teacher's options; all take ``return_range`` and ``max_in_flight``.

    Raises:
        InputError: unknown name, option or space, or a value out of range.
    """
    return TEACHERS.make(name, space, seed=seed, **kwargs)
