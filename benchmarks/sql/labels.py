"""Labels of queries made from a gold query: right, wrong, or undecided.

A query is wrong if its result differs from the gold query's on one of many contents of the schema.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...envs.sql.databases.contents import draw_rows, insert_rows, make_database
from ...envs.sql.databases.worlds import draw_worlds
from ...envs.sql.engines.dialects import translate_query
from ...envs.sql.queries.equivalence import normal_form
from ...envs.sql.queries.near_misses import near_misses
from ...envs.sql.queries.query_tree import is_ordered_query
from ...envs.sql.queries.witnesses import choose_focus
from ...rewards.verifiers.sql import round_floats, same_rows
from ..harness import require

PROVEN = "proven equivalent"
_SEED = 1_000_000


@dataclass(frozen=True)
class LabelledQuery:
    """A query made from a gold query: the way it was made, its text, and True if it is right."""

    made: str
    text: str
    right: bool


def label_queries(known: Any, gold: str, contents: int, undecided: Counter[str]) -> Iterator[LabelledQuery]:
    """Yield the queries made from a gold query, with labels.

    Args:
        known: the task's `QueryTask`.
        gold: the gold query.
        contents: number of databases on which results are compared.
        undecided: receives the number of queries without a label, by the way they were made.
    """
    require("'palaestra bench sql'", "sql", "sqlglot")
    from .rewrites import equivalent_queries, wrong_queries

    schema, expected, ordered = known.plan.schema, known.witnesses.expected, is_ordered_query(known.query)
    right = dict((text, made) for made, text in equivalent_queries(gold, ordered))
    misses = [(kind, other, other.sql()) for kind, other in near_misses(known.query, schema)]
    normal = normal_form(known.query, schema)
    proven = {text for _, other, text in misses if normal_form(other, schema) == normal}
    wrong = {text: f"near miss of {kind}" for kind, _, text in misses}
    wrong |= {text: made for made, text in wrong_queries(gold, expected[0][1])}
    open_queries = {text: made for text, made in (wrong | right).items() if text != gold}
    differs = find_differences(known, gold, open_queries, contents)
    for text, made in open_queries.items():
        if text in right:
            # A rewriting that differs anywhere is a fault of this benchmark, and must not pass for a right one.
            assert text not in differs, f"the rewriting {made!r} changes a result: {text}"
            yield LabelledQuery(made, text, True)
        elif text in proven:
            assert text not in differs, f"proven equivalent, and yet another result: {text}"
            undecided[PROVEN] += 1
        elif text in differs:
            yield LabelledQuery(made, text, False)
        else:
            undecided[made] += 1


def write_for(text: str, dialect: str) -> str:
    """Translate a query of SQLite, keeping its mistakes: the division of whole numbers must still drop the fraction."""
    text = translate_query(text, dialect)
    return re.sub(r"(SUM\([\w.]+\)) / ", r"\1 // ", text) if dialect == "duckdb" else text


def find_differences(known: Any, gold: str, queries: Collection[str], contents: int) -> set[str]:
    """Find the queries that have another result than the gold query on one of many contents of the task's schema."""
    schema, ordered = known.plan.schema, is_ordered_query(known.query)
    differs: set[str] = set()
    rows = draw_rows(schema, _SEED)
    focuses = choose_focus(known.query, schema)
    with contextlib.closing(make_database(schema, rows)) as connection:
        for place in range(contents):
            if place % 4:
                focus = focuses[place % len(focuses)]
                worlds = draw_worlds(schema, np.random.default_rng(_SEED + place), [focus], rows, 1)
                insert_rows(connection, schema, rows | worlds.rows(0))
            elif place:
                insert_rows(connection, schema, draw_rows(schema, _SEED + place))
            answer = round_floats(connection.execute(gold).fetchall())
            for text in queries:
                if text not in differs:
                    found = round_floats(connection.execute(text).fetchall())
                    if not same_rows(found, answer, ordered):
                        differs.add(text)
    return differs
