"""Teachers by name: ``make("alp-gmm", space, seed=0)``. Other distributions join through ``palaestra.teachers``."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from ..errors import InputError
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
    build = TEACHERS[name]
    parameters = inspect.signature(build).parameters
    if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        known = [p for p in parameters if p not in ("self", "space", "seed")]
        for option in kwargs:
            if option not in known:
                near = difflib.get_close_matches(option, known, n=3, cutoff=0.5) or known
                raise InputError(
                    f"teacher {name!r} has no option {option!r}; did you mean {', '.join(map(repr, near))}?"
                )
    return build(space, seed=seed, **kwargs)
