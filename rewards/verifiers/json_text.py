"""JSON from untrusted text: bounded before it is parsed, strict where Python is lenient, compared without rounding.

`parse_json` refuses text that is not JSON but that `json.loads` accepts (NaN, infinities, repeated keys), and text on
which it fails (deep nesting, integers of thousands of digits). `same_json` compares values by JSON's rules, so that
true is not 1.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from ...errors import InputError

MAX_LENGTH = 200_000
MAX_DEPTH = 50
# Python refuses integers of more than 4,300 digits, and parsing time grows with the square of the length.
MAX_DIGITS = 1_000

# A bracket, or a whole string, which may hold brackets; possessive, so that an unclosed string costs one pass.
_BRACKET_OR_STRING = re.compile(r'[\[\]{}]|"(?:[^"\\]|\\.)*+["\\]?', re.DOTALL)
_FENCE = re.compile(r"```[A-Za-z0-9]{0,10}[ \t]*\n")


class JsonError(ValueError):
    """Error for a text that is not JSON within the bounds; the message is one sentence for the agent."""


def parse_json(text: str, *, duplicate_keys: bool = False, exact: bool = True) -> Any:
    """Parse a JSON text.

    Args:
        text: any text; more than 200,000 characters or 50 levels of nesting are refused unread.
        duplicate_keys: let a later key replace an earlier equal one instead of refusing both.
        exact: return numbers with fractions or exponents as `decimal.Decimal`, which keeps every digit, not as float.

    Raises:
        JsonError: not JSON, or beyond the bounds, also of a number (1,000 characters, the range of a double).
    """
    if len(text) > MAX_LENGTH:
        raise JsonError(f"The JSON text is longer than {MAX_LENGTH} characters.")
    if depth(text) > MAX_DEPTH:
        raise JsonError(f"The JSON text is nested more than {MAX_DEPTH} deep.")
    try:
        return json.loads(
            text,
            parse_int=_parse_integer,
            parse_float=_parse_decimal if exact else _parse_float,
            parse_constant=_refuse_constant,
            object_pairs_hook=dict if duplicate_keys else _object_with_unique_keys,
        )
    except json.JSONDecodeError as error:
        raise JsonError(f"The text is not JSON: {error.msg} (line {error.lineno}, column {error.colno}).") from None


def strip_code_fence(text: str) -> str:
    """Return the content of ``text`` if it consists of one code fence; else ``text`` itself."""
    stripped = text.strip()
    match = _FENCE.match(stripped)
    if match is None or not stripped.endswith("\n```"):
        return text
    return stripped[match.end() : -4] if match.end() <= len(stripped) - 4 else ""


def depth(text: str) -> int:
    """Return the nesting depth of the brackets outside strings, in time linear in the length of ``text``."""
    level = deepest = 0
    for match in _BRACKET_OR_STRING.finditer(text):
        bracket = match[0]
        if bracket in "[{":
            level += 1
            deepest = max(deepest, level)
        elif bracket in "]}":
            level -= 1
    return deepest


def same_json(one: Any, other: Any) -> bool:
    """Return True if two JSON values are equal: 1 = 1.0, true ≠ 1, arrays in order, objects in any order of their keys.

    A float counts as the decimal that it prints as, so that the text 0.1 equals the float 0.1.
    """
    if isinstance(one, Mapping):
        same_keys = isinstance(other, Mapping) and one.keys() == other.keys()
        return same_keys and all(same_json(value, other[key]) for key, value in one.items())
    if isinstance(one, (list, tuple)):
        same_length = isinstance(other, (list, tuple)) and len(one) == len(other)
        return same_length and all(map(same_json, one, other))
    if isinstance(one, (bool, str)) or one is None:
        return type(one) is type(other) and one == other
    return isinstance(other, (int, float, Decimal)) and not isinstance(other, bool) and _decimal(one) == _decimal(other)


def hashable_json(value: Any) -> Any:
    """Convert a JSON value to a hashable form; two values have the same form exactly if `same_json` holds."""
    if isinstance(value, Mapping):
        return "object", frozenset((key, hashable_json(part)) for key, part in value.items())
    if isinstance(value, (list, tuple)):
        return "array", tuple(map(hashable_json, value))
    if isinstance(value, (bool, str)) or value is None:
        return type(value).__name__, value
    return "number", _decimal(value)


def check_json_value(value: Any, what: str) -> Any:
    """Return ``value`` if it is a JSON value (tuples count as arrays).

    Raises:
        InputError: ``value`` holds an object of another type, a key that is not text, or a float that is not finite;
            ``what`` names the value in the message.
    """
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise InputError(f"{what} must have text as keys, not {list(value)!r}.")
        for part in value.values():
            check_json_value(part, what)
    elif isinstance(value, (list, tuple)):
        for part in value:
            check_json_value(part, what)
    elif not (value is None or isinstance(value, (bool, int, str))) and not (
        isinstance(value, (float, Decimal)) and math.isfinite(value)
    ):
        raise InputError(f"{what} must be a JSON value (None, bool, int, float, str, list, dict), not {value!r}.")
    return value


def _decimal(value: int | float | Decimal) -> int | Decimal:
    return Decimal(repr(value)) if isinstance(value, float) else value


def _parse_integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise JsonError(f"A number has more than {MAX_DIGITS} digits.")
    return int(digits)


def _parse_float(digits: str) -> float:
    if len(digits) > MAX_DIGITS:
        raise JsonError(f"A number has more than {MAX_DIGITS} digits.")
    value = float(digits)
    if not math.isfinite(value):
        raise JsonError("A number is outside the range of double precision.")
    return value


def _parse_decimal(digits: str) -> Decimal:
    _parse_float(digits)
    # The range of a double does not bound negative exponents, and exact arithmetic would write out all zeros.
    if len(digits.lower().partition("e")[2]) > 5:
        raise JsonError("A number is outside the range of double precision.")
    return Decimal(digits)


def _refuse_constant(name: str) -> float:
    raise JsonError(f"{name} is not JSON.")


def _object_with_unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise JsonError("A key is given twice in one object.")
    return value
