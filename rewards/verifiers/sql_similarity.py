"""Similarity of queries without running them: the shaped parts of Reasoning-SQL (arXiv 2503.23157).

The functions return values in [0, 1]. They compare text, so a high value does not imply the right result: add them to
execution match with a smaller weight.
"""

from __future__ import annotations

import re
from typing import Any

from ...errors import InputError, MissingExtra
from .json_text import strip_code_fence
from .sql import MAX_LENGTH

MAX_DEPTH = 50
_TOKEN = re.compile(
    r"""'(?:[^']|'')*+'? | "(?:[^"]|"")*+"? | `[^`]*+`? | --[^\n]*+ | /\*.*?(?:\*/|\Z)
      | \w++(?:\.[0-9]++)? | <> | [<>!=|]= | \|\| | [^\s\w]""",
    re.VERBOSE | re.DOTALL,
)


def schema_jaccard(predicted: str, gold: str, *, dialect: str = "sqlite") -> float:
    """Return |I ∩ I*| / |I ∪ I*| over the names of the tables and columns that two queries refer to, in any case.

    Qualifiers and aliases of tables do not matter; the names of common table expressions do not count.

    Args:
        predicted: the query to score, untrusted; 0 if it cannot be parsed, is longer than 20,000 characters or nests
            more than 50 deep.
        gold: the gold query.
        dialect: a dialect of sqlglot.

    Raises:
        InputError: the gold query cannot be parsed or refers to no table or column.
        MissingExtra: sqlglot is not installed.
    """
    theirs = _links(gold, dialect)
    if not theirs:
        raise InputError(f"the gold query {gold[:100]!r} cannot be parsed, or refers to no table or column.")
    ours = _links(predicted, dialect) or set()
    return len(ours & theirs) / len(ours | theirs)


def ngram_jaccard(predicted: str, gold: str, *, n: int = 2) -> float:
    """Return the Jaccard index of the sets of token n-grams of two queries, in any case; comments do not count.

    A query of fewer than ``n`` tokens is one n-gram. For a predicted text of more than 20,000 characters the index is
    0.

    Raises:
        InputError: n is below 1, or the gold query has no token.
    """
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise InputError(f"n must be an int of at least 1, not {n!r}.")
    theirs = _grams(gold, n)
    if not theirs:
        raise InputError("the gold query has no token.")
    ours = _grams(strip_code_fence(predicted), n) if len(predicted) <= MAX_LENGTH else set()
    return len(ours & theirs) / len(ours | theirs)


def sql_tokens(query: str) -> list[str]:
    """Return the tokens of a query in lower case, without comments and the semicolons at its end."""
    found = [match[0].lower() for match in _TOKEN.finditer(query) if not match[0].startswith(("--", "/*"))]
    while found and found[-1] == ";":
        found.pop()
    return found


def _grams(query: str, n: int) -> set[tuple[str, ...]]:
    words = sql_tokens(query)
    if not words:
        return set()
    return {tuple(words[start : start + n]) for start in range(max(1, len(words) - n + 1))}


def parse_query(query: str, dialect: str = "sqlite") -> Any:
    """Parse an untrusted query, bare or in a code fence, into a tree of sqlglot.

    Return None if it cannot be parsed, is longer than 20,000 characters or nests more than 50 deep.

    Raises:
        MissingExtra: sqlglot is not installed.
    """
    try:
        import sqlglot
        from sqlglot import exp
        from sqlglot.errors import SqlglotError
    except ImportError:
        raise MissingExtra("comparing the parts of queries", "sql") from None
    query = strip_code_fence(query)
    if len(query) > MAX_LENGTH or _depth(query) > MAX_DEPTH:
        return None
    try:
        tree = sqlglot.parse_one(query, read=dialect)
    except (SqlglotError, RecursionError):
        return None
    return tree if isinstance(tree, exp.Query) else None


def _links(query: str, dialect: str) -> set[tuple[str, str]] | None:
    """Return ("table" or "column", name) for all that a query refers to; None if it cannot be parsed."""
    tree = parse_query(query, dialect)
    if tree is None:
        return None
    from sqlglot import exp

    own = {name.alias_or_name.lower() for name in tree.find_all(exp.CTE)}
    tables = {("table", table.name.lower()) for table in tree.find_all(exp.Table) if table.name}
    columns = {("column", c.name.lower()) for c in tree.find_all(exp.Column) if c.name and c.name != "*"}
    return {link for link in tables | columns if link[0] == "column" or link[1] not in own}


def _depth(query: str) -> int:
    level = deepest = 0
    for token in sql_tokens(query):
        level += (token in ("(", "case")) - (token in (")", "end"))
        deepest = max(deepest, level)
    return deepest
