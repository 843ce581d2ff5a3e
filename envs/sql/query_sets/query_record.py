"""Readers of the layouts of Spider and BIRD: each makes a question about a database from a record."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ....rewards.verifiers.sql_similarity import sql_tokens
from ...datasets.layouts import Fields, Item, Layout, UnusableRecord

_LEVELS = {"simple": 1, "moderate": 2, "challenging": 3}
# Keywords that make a query harder, and their maximum number on each level but the last.
_PARTS = {"join", "where", "group", "having", "order", "limit", "and", "or", "union", "intersect", "except", "distinct"}
_MOST_PARTS = (1, 3, 5)
# The clauses in logical order.
_ORDER = ("FROM", "WHERE", "GROUP BY", "HAVING", "SELECT", "UNION", "INTERSECT", "EXCEPT", "ORDER BY", "LIMIT")
_WORD = re.compile(
    r"""'(?:[^']|'')*'? | "[^"]*"? | `[^`]*`? | (?P<open>[(]) | (?P<close>[)])
      | \b(?P<clause>SELECT|FROM|WHERE|GROUP\s+BY|HAVING|ORDER\s+BY|LIMIT|UNION|INTERSECT|EXCEPT)\b""",
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class QueryRecord(Item):
    """A question about a database. ``answer`` is the reference query.

    Args:
        database: the name of its folder.
        evidence: knowledge from outside the database that the question needs, or "".
    """

    database: str = ""
    evidence: str = ""

    @property
    def content(self) -> str:
        """The text that identifies the question."""
        return " ".join(f"{self.database}: {self.question}".split())


def read_spider(fields: Fields, index: int) -> QueryRecord:
    """Read a Spider record: ``db_id``, ``question`` and ``query``."""
    query = fields.text("query")
    return _make_record(fields, query, rate_query(query))


def read_bird(fields: Fields, index: int) -> QueryRecord:
    """Read a BIRD record: ``db_id``, ``question``, ``SQL``, ``evidence``, and ``difficulty``, which its training part
    does not have."""
    query = fields.text("sql")
    difficulty = fields.get("difficulty")
    level = min(rate_query(query), 3) if difficulty is None else _LEVELS.get(str(difficulty).lower())
    if level is None:
        raise UnusableRecord(f"the difficulty {str(difficulty)[:40]!r} is none of {', '.join(_LEVELS)}")
    evidence = fields.get("evidence")
    return _make_record(fields, query, level, evidence if isinstance(evidence, str) else "")


def _make_record(fields: Fields, query: str, level: int, evidence: str = "") -> QueryRecord:
    query = " ".join(query.split()).rstrip("; ")
    database = fields.text("db_id")
    if not re.fullmatch(r"\w[\w .&-]*", database):
        raise fields.fault(f"the field 'db_id' must be the name of a folder, not {database[:60]!r}")
    steps = tuple(list_clauses(query))
    return QueryRecord(fields.text("question"), query, steps, level, database=database, evidence=evidence.strip())


def rate_query(query: str) -> int:
    """Rate a query from 1 to 4 by the number of its joins, clauses, conditions, set operations and inner queries (which
    count twice)."""
    words = sql_tokens(query)
    parts = sum(word in _PARTS for word in words) + 2 * (words.count("select") - 1)
    return next((level for level, most in enumerate(_MOST_PARTS, 1) if parts <= most), 4)


def list_clauses(query: str) -> list[str]:
    """List the clauses of a query outside parentheses, in logical order; clauses of one name from both sides of a set
    operation are adjacent."""
    clauses = list(_split_clauses(query))
    return [text for name in _ORDER for found, text in clauses if found == name]


def _split_clauses(query: str) -> Iterator[tuple[str, str]]:
    depth, start, name = 0, 0, ""
    for match in _WORD.finditer(query):
        depth += (match["open"] is not None) - (match["close"] is not None)
        if match["clause"] and depth == 0:
            if name:
                yield name, query[start : match.start()].strip()
            start, name = match.start(), " ".join(match["clause"].upper().split())
    if name:
        yield name, query[start:].strip()


SPIDER = Layout("Spider", "a Spider record has 'db_id', 'question' and 'query'", read_spider)
BIRD = Layout("BIRD", "a BIRD record has 'db_id', 'question', 'SQL' and perhaps 'evidence' and 'difficulty'", read_bird)
