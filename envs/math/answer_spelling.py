r"""Reading of lists of numbers as people write them: ``x = 1, y = 2``, ``(1, 2)``, ``1 and 2``."""

from __future__ import annotations

import re
from fractions import Fraction

from ...rewards.answers.numbers import parse_number, plain_notation
from ...rewards.answers.phrases import is_denied, strip_statement
from ...rewards.verifiers.sequence import ListError, split_elements

# The name of a point, or nothing.
_NAMES = re.compile(r"(?:\([a-z, ]*\))?")
_JOINED = re.compile(r",? (?:and|or) |[ \t]*[,;]?[ \t]*\n\s*|[ \t]*;[ \t]*")


def extract_numbers(answer: str) -> list[tuple[str, Fraction]] | None:
    """Return the numbers that ``answer`` lists, as pairs (name or "", number): ``x = 1, y = 2``, ``(1, 2)``, ``1 and
    2``. A name for the whole list, as in ``(x, y) = (1, 2)``, is dropped. Return None if ``answer`` is no list of
    numbers."""
    text = strip_statement(plain_notation(answer), equated=False)
    head, _, tail = text.rpartition("=")
    if _NAMES.fullmatch(head.strip()) or tail.lstrip().startswith(("(", "[", "{")):
        if is_denied(f"{head}="):
            return None
        text = tail
    try:
        parts = split_elements(_JOINED.sub(", ", text))
    except ListError:
        return None
    found = []
    for part in parts:
        name, _, value = part.rpartition("=")
        exact = parse_number(value)
        if exact is None:
            return None
        found.append((name.strip(), exact))
    return found


def extract_numbers_in_order(answer: str, names: str) -> list[Fraction] | None:
    """Return one number for each of ``names``; None unless ``answer`` lists them in this order or with their names."""
    found = extract_numbers(answer) or []
    given = [name for name, _ in found]
    if len(found) == len(names) and not any(given):
        return [value for _, value in found]
    if sorted(given) != sorted(names):
        return None
    return [value for _, value in sorted(found, key=lambda pair: names.index(pair[0]))]
