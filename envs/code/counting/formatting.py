"""Text of values, with its cost: str, repr, format, the operator %, str.format and f-strings.

Formats cannot reach attributes or items of a value: ``"{0.name}"`` is not supported.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable
from typing import Any

from .meter import Meter, Uncounted, weight

_NUMBERS = re.compile(r"\d+")
_FIELD = re.compile(r"|\d+|[^\W\d]\w*")


def write_str(meter: Meter, value: Any) -> str:
    """Return ``str(value)``, and charge for the value's contents and for the text."""
    return value if type(value) is str else _charge_text(meter, value, str)


def write_repr(meter: Meter, value: Any) -> str:
    """Return ``repr(value)``, and charge for the value's contents and for the text."""
    return _charge_text(meter, value, repr)


def _charge_text(meter: Meter, value: Any, write: Callable[[Any], str]) -> str:
    # Charge for the value's contents before writing it, so that no huge text is made.
    if type(value) is not str:
        meter.charge(weight(meter, value))
    text = write(value)
    meter.charge(len(text))
    return text


def format_value(meter: Meter, value: Any, form: str = "", conversion: str = "") -> str:
    """Return ``format(value, form)`` after a conversion ("s", "r", "a" or none), and charge for it."""
    if conversion == "s":
        value = write_str(meter, value)
    elif conversion:
        value = write_repr(meter, value)
        value = value if conversion == "r" else ascii(value)
    if not form:
        return write_str(meter, value)
    _charge_widths(meter, form)
    if type(value) is not str:
        meter.charge(weight(meter, value))
    result = format(value, form)
    meter.charge(len(result))
    return result


def format_percent(meter: Meter, form: str, values: Any) -> str:
    """Return ``form % values``, and charge for it."""
    if "*" in form:
        raise Uncounted("a width * in a format is not counted here: use an f-string")
    _charge_widths(meter, form)
    meter.charge(weight(meter, values))
    result = form % values
    meter.charge(len(result))
    return result


def _charge_widths(meter: Meter, form: str) -> None:
    """Charge for the widths and precisions in a format before they are used."""
    meter.charge(len(form))
    for number in _NUMBERS.findall(form):
        meter.charge(int(number) if len(number) < 12 else 1 << 62)


def format_method(meter: Meter, form: str, /, *values: Any, **named: Any) -> str:
    """Return ``form.format(*values, **named)``, and charge for it."""
    meter.charge(len(form))
    result = _Filling(meter, values, named).fill(form, 0)
    meter.charge(len(result))
    return result


class _Filling:
    """The state of one call of str.format: its values, and the numbering of its fields."""

    def __init__(self, meter: Meter, values: tuple[Any, ...], named: dict[str, Any]):
        self.meter, self.values, self.named = meter, values, named
        self.next, self.numbered = 0, False

    def fill(self, form: str, depth: int) -> str:
        if depth > 1:
            raise ValueError("Max string recursion exceeded")
        parts = []
        for literal, field, spec, conversion in string.Formatter().parse(form):
            parts.append(literal)
            if field is not None:
                value = self._value(field)
                if conversion not in (None, "s", "r", "a"):
                    raise ValueError(f"Unknown conversion specifier {conversion!r}")
                form_of_one = self.fill(spec, depth + 1) if spec else ""
                parts.append(format_value(self.meter, value, form_of_one, conversion or ""))
        return "".join(parts)

    def _value(self, field: str) -> Any:
        if not _FIELD.fullmatch(field):
            raise Uncounted("attributes and items in str.format are not counted here: use an f-string")
        if field and not field.isdigit():
            return self.named[field]
        if self.numbered if not field else self.next:
            raise ValueError("cannot switch between manual field specification and automatic field numbering")
        place = int(field) if field else self.next
        if field:
            self.numbered = True
        else:
            self.next += 1
        if place >= len(self.values):
            raise IndexError(f"Replacement index {place} out of range for positional args tuple")
        return self.values[place]
