"""Constructs of SQL that questions need on request, each with its wording and its near misses.

Some are added to a drawn query as a clause, expression, view, note or form of its columns; others are queries of their
own. `CONSTRUCTS` is the table of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from .....errors import InputError
from ....code.programs.dice import Dice
from ...databases.contents import Rows
from ..query_grammar import draw_query
from ..query_plans import Plan
from ..query_tree import Query
from .added_clauses import ADDED_CLAUSES
from .child_tables import CHILD_TABLES
from .construct import Construct, QueryRequest
from .knowledge_notes import KNOWLEDGE_NOTES
from .recursive_queries import RECURSIVE_QUERIES
from .schema_views import SCHEMA_VIEWS
from .self_comparisons import SELF_COMPARISONS
from .untidy_columns import UNTIDY_COLUMNS

_ROWS = (
    *ADDED_CLAUSES,
    SELF_COMPARISONS,
    CHILD_TABLES,
    RECURSIVE_QUERIES,
    SCHEMA_VIEWS,
    KNOWLEDGE_NOTES,
    UNTIDY_COLUMNS,
)
CONSTRUCTS: dict[str, Construct] = {one.name: one for one in _ROWS}


def check_constructs(names: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names of constructs, given as a sequence or as a text with commas between them.

    Raises:
        InputError: there is no construct of a name.
    """
    found = tuple(names.split(",")) if isinstance(names, str) else tuple(names)
    found = tuple(name.strip() for name in found if name)
    for name in found:
        if name not in CONSTRUCTS:
            raise InputError(f"unknown construct: {name!r}; the constructs are {', '.join(CONSTRUCTS)}.")
    return found


def prepare_plan(dice: Dice, plan: Plan, construct: str) -> Plan | None:
    """Give a plan what a construct needs; None if it does not fit. ``construct``: one of `CONSTRUCTS`, or ""."""
    return CONSTRUCTS[construct].prepare(dice, plan) if construct else plan


def draw_with(dice: Dice, plan: Plan, rows: Rows, clauses: int, nesting: int, construct: str = "") -> Query | None:
    """Draw a query with a construct; None if the draw fails.

    Args:
        dice: the random generator.
        plan: a plan that `prepare_plan` returned.
        rows: contents of the database, as they are meant (`contents.tidy_rows`).
        clauses: number of clauses, as in `query_grammar.draw_query`.
        nesting: depth of nested queries in the conditions.
        construct: one of `CONSTRUCTS`, or "" for none.
    """
    if not construct:
        return draw_query(dice, plan, rows, clauses, nesting)
    chosen, query = CONSTRUCTS[construct], None
    if chosen.adds and (query := draw_query(dice, plan, rows, clauses, nesting)) is None:
        return None
    return chosen.draw(QueryRequest(dice, plan, rows, clauses, nesting), query)
