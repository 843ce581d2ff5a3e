"""The order of a query's rows: tests whether a query sorts its result, and whether the order leaves ties.

Rows that are tied in ORDER BY are often in the right order by accident: an engine visits rows by their keys, sorts
stably, and groups by sorting. `break_ties` writes a query twice, so that tied rows come in one order and in the reverse
order; a query that leaves no ties has the same result both times.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# A string, quoted name or comment as one token; then words, numbers, and single signs.
_TOKEN = re.compile(
    r"""'(?:[^']|'')*+'? | "(?:[^"]|"")*+"? | `[^`]*+`? | \[[^\]]*+\]? | --[^\n]*+ | /\*.*?(?:\*/|\Z)
      | \w++ | \S""",
    re.VERBOSE | re.DOTALL,
)
# The place of a row in the order in which an engine finds it.
_FOUND = "ROW_NUMBER() OVER ()"
_SETS = frozenset({"union", "intersect", "except"})
_TAIL = frozenset({"limit", "offset", "fetch"})
# Words after the expression of a key.
_WAYS = frozenset({"asc", "desc", "nulls", "collate"})


@dataclass(frozen=True, slots=True)
class _Token:
    """A token in lower case, its place in the text, and the parentheses around it."""

    text: str
    start: int
    end: int
    depth: int


def is_ordered(query: str) -> bool:
    """Check that a query has an ORDER BY outside all parentheses."""
    return _find_order([one for one in _read_tokens(query) if one.depth == 0]) is not None


def break_ties(query: str) -> tuple[str, str] | None:
    """Write a query twice, with the number in which the engine finds a row as a further sort key: ascending, and
    descending. So rows that the outermost ORDER BY leaves tied (all rows, if there is none) are reversed.

    Both queries have the further key, as an engine may find rows in another order without it. SELECT DISTINCT and set
    operations become subqueries, sorted outside by the positions of their columns.

    Returns:
        Two queries for SQLite, DuckDB and PostgreSQL alike, or None if the query begins with a parenthesis or VALUES,
        or sorts distinct rows by an expression that is not one of the columns.
    """
    tokens = list(_read_tokens(query))
    while tokens and tokens[-1].text == ";":
        tokens.pop()
    top = [one for one in tokens if one.depth == 0]
    select = next((place for place, one in enumerate(top) if one.text == "select"), None)
    if select is None or top[0].text == "(":
        return None
    order = _find_order(top)
    tail = next((one for one in top[(order or select) :] if one.text in _TAIL), None)
    end = tokens[-1].end
    cut = tail.start if tail else end
    body = [one for one in tokens if one.end <= cut]
    rest = f" {query[tail.start : end]}" if tail else ""
    is_distinct = [one.text for one in top[select + 1 : select + 2]] == ["distinct"]
    if not is_distinct and not any(one.text in _SETS for one in top):
        keys = " ORDER BY" if order is None else ","
        start = f"{query[: body[-1].end]}{keys} {_FOUND}"
        return f"{start}{rest}", f"{start} DESC{rest}"
    inner, keys = query[: body[-1].end], ""
    if order is not None:
        inner = query[: top[order].start]
        listed = _split([one for one in body if one.start > top[order + 1].start])
        columns = _list_columns(tokens, top[select + 1 + is_distinct])
        places = [_place_of(key, columns) for key in listed]
        if None in places:
            return None
        keys = "".join(f"{place}, " for place in places)
    start = f"SELECT * FROM ({inner}\n) AS answer ORDER BY {keys}{_FOUND}"
    return f"{start}{rest}", f"{start} DESC{rest}"


def _read_tokens(query: str) -> Iterator[_Token]:
    """Yield the tokens that are no comments."""
    depth = 0
    for match in _TOKEN.finditer(query):
        text = match[0].lower()
        if not text.startswith(("--", "/*")):
            depth -= text == ")"
            yield _Token(text, match.start(), match.end(), depth)
            depth += text == "("


def _find_order(top: Sequence[_Token]) -> int | None:
    """Return the place of the last ORDER BY among the tokens outside all parentheses."""
    pairs = itertools.pairwise([one.text for one in top])
    return max((place for place, pair in enumerate(pairs) if pair == ("order", "by")), default=None)


def _split(tokens: Sequence[_Token]) -> list[list[str]]:
    """Split a list at the commas outside all parentheses."""
    parts: list[list[str]] = [[]]
    for one in tokens:
        if one.depth == 0 and one.text == ",":
            parts.append([])
        else:
            parts[-1].append(one.text)
    return parts


def _list_columns(tokens: Sequence[_Token], first: _Token) -> list[list[str]]:
    """List the columns of the first SELECT, of which ``first`` is the first token."""
    start = next(place for place, one in enumerate(tokens) if one.start == first.start)
    after = tokens[start:]
    end = next((place for place, one in enumerate(after) if one.depth == 0 and one.text in {"from", *_SETS}), None)
    return _split(after[:end])


def _place_of(key: list[str], columns: Sequence[list[str]]) -> str | None:
    """Write a key of ORDER BY by the position of its column; None if it is not a column, or may be one of several."""
    size = next((place for place, word in enumerate(key) if word in _WAYS), len(key))
    wanted, direction = key[:size], " ".join(key[size:])
    if len(wanted) == 1 and wanted[0].isdigit():
        return f"{wanted[0]} {direction}".strip()
    if any(column[-1:] == ["*"] for column in columns):
        return None
    found = []
    for place, column in enumerate(columns, start=1):
        is_named, is_qualified = (column[-2:-1] == [mark] for mark in ("as", "."))
        # The whole, without its alias, and its alias or its name without the table.
        forms = [column, column[:-2] if is_named else column, column[-1:] if is_named or is_qualified else column]
        found += [place] * (wanted in forms)
    return f"{found[0]} {direction}".strip() if len(found) == 1 else None
