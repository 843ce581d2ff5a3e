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
_FIELD = re.compile(r"\d+|[^\W\d]\w*")


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
    if conversion:
        value = _convert(meter, value, conversion)
    if not form:
        return write_str(meter, value)
    _charge_widths(meter, form)
    if type(value) is not str:
        meter.charge(weight(meter, value))
    result = format(value, form)
    meter.charge(len(result))
    return result


def _convert(meter: Meter, value: Any, conversion: str) -> str:
    if conversion == "s":
        return write_str(meter, value)
    text = write_repr(meter, value)
    return text if conversion == "r" else text.encode("ascii", "backslashreplace").decode()


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
    result = _Formatter(meter).vformat(form, values, named)
    meter.charge(len(result))
    return result


class _Formatter(string.Formatter):
    def __init__(self, meter: Meter):
        self.meter = meter

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> tuple[Any, str]:
        if not _FIELD.fullmatch(field_name):
            raise Uncounted("attributes and items in str.format are not counted here: use an f-string")
        return args[int(field_name)] if field_name.isdigit() else kwargs[field_name], field_name

    def convert_field(self, value: Any, conversion: Any) -> Any:
        if conversion not in (None, "s", "r", "a"):
            raise ValueError(f"Unknown conversion specifier {conversion!r}")
        return value if conversion is None else _convert(self.meter, value, conversion)

    def format_field(self, value: Any, format_spec: str) -> str:
        return format_value(self.meter, value, format_spec)
