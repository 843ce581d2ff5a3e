"""Reading of right answers from the columns of users' files: worked solutions, boxes, lists, references as JSON."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from ...errors import shorten
from ...rewards.answers.numbers import plain_number
from ...rewards.verifiers.registry import NUMBERS
from .layouts import UnusableRecord, find_boxed
from .references import read_calls

# Fields with several right answers in a record: SQuAD and TriviaQA, DROP.
_SEVERAL = ("text", "spans", "aliases", "value")
# Verifiers with references other than text.
STRUCTURED = frozenset(
    ["constraints", "toolcall", "json", "structure", "list", "grid", "cells", "interval", "ordering"]
)


def is_empty(value: Any) -> bool:
    """Return True for a missing value: null, blank text, NaN, or a list without values."""
    if isinstance(value, (float, Decimal)):
        return math.isnan(value)
    if isinstance(value, (list, tuple)):
        return all(map(is_empty, value))
    return value is None or (isinstance(value, str) and not value.strip())


def read_answers(value: Any, column: str, kind: str) -> tuple[list[Any], str | None]:
    """Return the right answers in a column's value, the one to show first, and the worked solution or None.

    Raises:
        UnusableRecord: the value is neither text, a number, a list of these nor a record with known fields.
    """
    if kind in STRUCTURED:
        return [value], None
    if isinstance(value, Mapping):
        found = [value[name] for name in _SEVERAL if not is_empty(value.get(name))]
        if not found:
            raise UnusableRecord(
                f"the column {column!r} has columns of its own; name one, such as {inner_name(column, value)}"
            )
        flat = [each for part in found for each in (part if isinstance(part, (list, tuple)) else [part])]
        return read_answers(list(dict.fromkeys(map(str, flat))), column, kind)
    if isinstance(value, (list, tuple)):
        texts = [text for each in value if not is_empty(each) for text in read_answers(each, column, kind)[0]]
        return list(dict.fromkeys(texts)), None
    if isinstance(value, bool):
        return (["yes", "true"] if value else ["no", "false"]), None
    if isinstance(value, (float, Decimal)) and value == value.__trunc__():
        value = int(value)
    if not isinstance(value, (str, int, float, Decimal)):
        raise UnusableRecord(f"the answer {shorten(repr(value))} is neither text nor a number")
    text = str(value).strip()
    worked, marker, last = text.rpartition("####")
    if marker and worked.strip() and last.strip() and "\n" not in last.strip():
        return [last.strip()], worked
    if "\n" in text and (boxed := find_boxed(text)):
        return [boxed], text
    return [text], None


def read_reference(kind: str, value: Any) -> Any:
    """Convert a record's value to the reference of the verifier ``kind``."""
    if kind in NUMBERS:
        number = plain_number(str(value), units=None)
        if number is None:
            raise UnusableRecord(
                f"the verifier {kind!r} cannot read the answer {shorten(repr(value))}: it is no number"
            )
        return int(number) if kind == "integer" and re.fullmatch("-?[0-9]+", number) else number
    if kind not in STRUCTURED:
        return value.strip("[] ") if kind == "verdict" else value
    if isinstance(value, str) and kind != "list":
        try:
            value = json.loads(value)
        except ValueError as error:
            raise UnusableRecord(f"the answer {shorten(repr(value))} is not JSON ({error})") from None
    if kind == "toolcall":
        return read_calls(value)
    if kind == "list":
        return list(map(str, value)) if isinstance(value, (list, tuple)) else [p.strip() for p in str(value).split(",")]
    return value


def write_answer(kind: str, reference: Any) -> str:
    """Return an answer that the verifier ``kind`` accepts for a reference."""
    if kind == "verdict":
        return f"[[{reference}]]"
    if kind == "list":
        return "[" + ("; " if any("," in element for element in reference) else ", ").join(reference) + "]"
    if kind == "toolcall" and isinstance(reference, list):
        reference = [{key: call[key] for key in call if key not in ("also", "optional")} for call in reference]
    return json.dumps(reference) if kind in STRUCTURED else str(reference)


def inner_name(column: str, value: Mapping[str, Any]) -> str:
    return f"{column}.{next(iter(value), 'text')}"
