"""Parsing of values (whole number, list of numbers, text, list of words) from untrusted text, without evaluating it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..programs.steps import INTEGER, LIST, TEXT

_NUMBER = re.compile(r"[+-]?[0-9]{1,12}")
# Most items of a list, and most characters of a text.
MOST_ITEMS, MOST_CHARACTERS = 50, 400
_QUOTED = re.compile(r"\s*(?:'([^'\\]*)'|\"([^\"\\]*)\"|([A-Za-z0-9*_-]+))\s*(,|$)")
_ONE_QUOTED = re.compile(r"'([^'\\\n]*)'|\"([^\"\\\n]*)\"")
_ARGUMENT = re.compile(r"""([^,'"\[\]]*(?:'[^'\\]*'|"[^"\\]*"|\[[^\[\]]*\])?\s*)(,|$)""")


def read_value(text: str, kind: str) -> Any:
    """Parse a value in Python's notation. Return None if ``text`` contains no such value.

    Texts and words may lack quotation marks, and lists may lack brackets.

    Args:
        text: the value written out.
        kind: its type: `INTEGER`, `LIST`, `TEXT` or `WORDS` of `programs.steps`.
    """
    text = text.strip().replace("\u2212", "-")
    if kind == INTEGER:
        return int(text) if _NUMBER.fullmatch(text) else None
    if kind == TEXT:
        quoted = _ONE_QUOTED.fullmatch(text)
        found = (quoted.group(1) or quoted.group(2) or "") if quoted else text
        plain = found.isascii() and found.isprintable() and not (not quoted and set(text) & set("'\"\\[]"))
        return found if plain and len(found) <= MOST_CHARACTERS and (quoted or text) else None
    enclosed = text[:1] + text[-1:] in ("[]", "()")
    body = text[1:-1].strip() if enclosed else text
    if not body:
        return [] if enclosed else None
    if kind != LIST:
        return _read_words(body)
    parts = [part.strip() for part in body.split(",")] if "," in body else body.split()
    if len(parts) > 1 and not parts[-1]:
        parts.pop()
    good = len(parts) <= MOST_ITEMS and all(map(_NUMBER.fullmatch, parts))
    return [int(part) for part in parts] if good else None


def _read_words(body: str) -> list[str] | None:
    found: list[str] = []
    place = 0
    while place < len(body):
        match = _QUOTED.match(body, place)
        if match is None or len(found) == MOST_ITEMS:
            return None
        found.append(next(group for group in match.groups()[:3] if group is not None))
        place = match.end()
    good = all(word.isascii() and word.isprintable() for word in found) and sum(map(len, found)) <= MOST_CHARACTERS
    return found if good else None


def read_arguments(text: str, function: str, parameters: Sequence[tuple[str, str]]) -> tuple[Any, ...] | None:
    """Parse the arguments of a call. Return None if ``text`` contains no arguments of these types.

    Args:
        text: ``function(...)``, ``(...)``, or the arguments alone, with or without the names of parameters.
        function: the name of the function.
        parameters: (name, type) of each parameter.
    """
    text = text.strip()
    if text.startswith(function) and text.endswith(")"):
        text = text[len(function) :].strip()
    if text.startswith("(") and text.endswith(")"):
        text = text[1:-1].strip().removesuffix(",")
    if len(parameters) == 1:
        parts = [text]
    else:
        parts, place = [], 0
        while place < len(text) and len(parts) <= len(parameters):
            match = _ARGUMENT.match(text, place)
            if match is None:
                return None
            parts.append(match.group(1))
            place = match.end()
    if len(parts) != len(parameters):
        return None
    values = []
    for part, (name, kind) in zip(parts, parameters):
        part = part.strip()
        rest = part.removeprefix(name).lstrip()
        named = part.startswith(name) and rest.startswith("=")
        values.append(read_value(rest[1:] if named else part, kind))
    return None if None in values else tuple(values)
