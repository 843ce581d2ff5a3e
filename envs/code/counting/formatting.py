"""Values as text: str, repr, format, the operator %, str.format and f-strings.

Formats reach no attribute and no item of a value: ``"{0.name}"`` is not counted.
"""

from __future__ import annotations

import re
import string
from typing import Any

from .meter import Meter, Uncounted, weight

_NUMBERS = re.compile(r"\d+")
_FIELD = re.compile(r"|\d+|[^\W\d]\w*")


def text_of(meter: Meter, value: Any) -> str:
    return value if type(value) is str else _written(meter, value, str(value) if _light(meter, value) else "")


def repr_of(meter: Meter, value: Any) -> str:
    return _written(meter, value, repr(value) if _light(meter, value) else "")


def _light(meter: Meter, value: Any) -> bool:
    """Charge for a value that holds others before it is written; always true."""
    if type(value) is not str:
        meter.charge(weight(meter, value))
    return True


def _written(meter: Meter, value: Any, text: str) -> str:
    meter.charge(len(text))
    return text


def formatted(meter: Meter, value: Any, form: str = "", conversion: str = "") -> str:
    """As the built-in function format, after a conversion ("s", "r", "a" or none)."""
    if conversion == "s":
        value = text_of(meter, value)
    elif conversion:
        value = repr_of(meter, value)
        value = value if conversion == "r" else ascii(value)
    if not form:
        return text_of(meter, value)
    _charge_widths(meter, form)
    _light(meter, value)
    result = format(value, form)
    meter.charge(len(result))
    return result


def percent(meter: Meter, form: str, values: Any) -> str:
    """``form % values``."""
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
    """``form.format(*values, **named)``."""
    meter.charge(len(form))
    result = _Filling(meter, values, named).filled(form, 0)
    meter.charge(len(result))
    return result


class _Filling:
    """One call of str.format: its values, and how its fields are numbered."""

    def __init__(self, meter: Meter, values: tuple[Any, ...], named: dict[str, Any]):
        self.meter, self.values, self.named = meter, values, named
        self.next, self.numbered = 0, False

    def filled(self, form: str, depth: int) -> str:
        if depth > 1:
            raise ValueError("Max string recursion exceeded")
        parts = []
        for literal, field, spec, conversion in string.Formatter().parse(form):
            parts.append(literal)
            if field is not None:
                value = self._value(field)
                if conversion not in (None, "s", "r", "a"):
                    raise ValueError(f"Unknown conversion specifier {conversion!r}")
                form_of_one = self.filled(spec, depth + 1) if spec else ""
                parts.append(formatted(self.meter, value, form_of_one, conversion or ""))
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
