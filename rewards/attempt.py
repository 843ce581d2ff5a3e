"""Calls of user-written reward code: an exception becomes a sentence about one episode instead of ending the run."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import InputError, MissingExtra, shorten
from .verdict import VerdictError

_log = logging.getLogger(__name__)


class FailedCall(str):
    """Description of a failed call, as text. ``down`` is True if a connection failed: repeating the call would fail as
    well."""

    down: bool = False


def attempt(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function. Return its result, or a `FailedCall` if it raises or builds a `Verdict` with unusable numbers.

    Raises:
        InputError, MissingExtra, NotImplementedError: raised by the function and passed on, because they concern the
            set-up and not one episode.
    """
    try:
        return function(*arguments)
    except VerdictError as error:
        return FailedCall(error)
    except (InputError, MissingExtra, NotImplementedError):
        raise
    except Exception as error:
        _log.info("a reward failed", exc_info=True)
        failure = FailedCall(shorten(f"{type(error).__name__}: {error}".strip(" :"), 300))
        failure.down = isinstance(error, OSError)
        return failure


def to_finite_number(value: Any) -> float | str:
    """Convert ``value`` to a finite float. Return an error sentence if that fails; a text is returned unchanged, as it
    already is one."""
    if isinstance(value, str):
        return value
    shown = shorten(repr(value), 60)
    if isinstance(value, bytes | bytearray) or getattr(value, "ndim", 0):
        return f"it gave {shown}, which is no number"
    try:
        number = float(value)
    except (TypeError, ValueError, RuntimeError):
        return f"it gave {shown}, which is no number"
    except OverflowError:
        number = math.inf
    return number if math.isfinite(number) else f"it gave {shown}, which is no finite number"


def read_list(found: Any, count: int) -> Sequence[Any] | str:
    """Convert ``found`` to a sequence of ``count`` values, one per episode or step. Return an error sentence if that
    fails; a text is returned unchanged."""
    if isinstance(found, str):
        return found
    try:
        values = list(found)
    except TypeError:
        return f"it gave {shorten(repr(found), 60)} instead of {count} numbers"
    return values if len(values) == count else f"it gave {len(values)} numbers instead of {count}"
