"""Databases that distinguish a change from its near misses: after one of them, some table has other rows."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from dataclasses import replace as with_fields
from typing import Any

import numpy as np

from ....rewards.verifiers.sql import Database, ResultRows, round_floats
from ..databases.contents import Rows, insert_rows, make_database
from ..databases.relations import Schema
from ..databases.worlds import Focus, draw_worlds
from .change_misses import ORDER, change_misses, take_apart
from .change_tree import CaseValue, Change, DeleteRows, InsertValues, SetColumn, UpdateRows
from .equivalence import normal_form
from .query_tree import IsAmong, SelectQuery, replace
from .witnesses import choose_focus, read_elsewhere

# Minimum number of kept databases, contents drawn, and those of them drawn at a time.
FEWEST, _CONTENTS, _AT_A_TIME = 2, 40, 8
# Give up a change if the first contents leave more than this share of its near misses and more than this number.
_HOPELESS, _HOPEFUL, _FIRST = 0.25, 6, 4

TableStates = tuple[ResultRows, ...]
"""The rows of each table, in the order of the schema."""


@dataclass(frozen=True, slots=True)
class ChangeWitnesses:
    """Databases for one change.

    Args:
        expected: the databases, with the state of all tables after the change.
        near_misses: the kind of each near miss.
        survivors: (kind, SQL) of the near misses that left the same state on all contents drawn, and are not proved
            equivalent. Steps in another order, or twice, do not count: most often that changes nothing.
    """

    expected: tuple[tuple[Database, TableStates], ...]
    near_misses: tuple[str, ...]
    survivors: tuple[tuple[str, str], ...]


class ChangeRunner:
    """Contents of a schema in SQLite, on which changes are tried and undone."""

    def __init__(self, schema: Schema, rows: Rows):
        self.schema = schema
        self.connection = make_database(schema, rows)
        self.connection.commit()
        self.connection.isolation_level = None
        self.connection.execute("PRAGMA journal_mode = MEMORY")
        self.connection.execute("PRAGMA foreign_keys = ON")

    def close(self) -> None:
        self.connection.close()

    def load(self, rows: Rows) -> None:
        """Replace the contents."""
        self.connection.execute("PRAGMA foreign_keys = OFF")
        self.connection.execute("BEGIN")
        insert_rows(self.connection, self.schema, rows)
        self.connection.execute("COMMIT")
        self.connection.execute("PRAGMA foreign_keys = ON")

    def states(self, statements: Sequence[str], tables: Sequence[str]) -> list[list[tuple]] | None:
        """Return the rows of tables after statements, by key; None if a statement fails."""
        self.connection.execute("BEGIN")
        try:
            for statement in statements:
                self.connection.execute(statement)
            return [self.connection.execute(f"SELECT * FROM {table}").fetchall() for table in tables]
        except sqlite3.Error:
            return None
        finally:
            self.connection.execute("ROLLBACK")


def find_change_witnesses(change: Change, schema: Schema, first: Rows, seed: int) -> ChangeWitnesses | None:
    """Draw contents of a schema until each near miss leaves another state on one of them, or `_CONTENTS` are drawn.

    Args:
        change: a change that runs on the schema.
        schema: the tables.
        first: contents of the first database, which is always kept.
        seed: seed of the other contents.

    Returns:
        The databases, or None if the change fails or does nothing on some contents, or too many near misses are alike.
    """
    tables, statements, right = change.tables, change.statements, change.sql()
    misses = {other.sql(): (kind, other) for kind, other in change_misses(change, schema)}
    misses.pop(right, None)
    alive = list(misses)
    kept: list[tuple[Database, TableStates]] = []
    rng = np.random.default_rng(seed)
    focuses = choose_focuses(change, schema)
    count = max(_AT_A_TIME, len(focuses))
    expected: list[list[tuple]] | None = None

    def tells(other: str) -> bool:
        """Return True if a near miss leaves another state on the present contents."""
        found = runner.states(other.split(";\n"), tables)
        return found is None or (found != expected and _differ(found, expected or []))

    with contextlib.closing(ChangeRunner(schema, first)) as runner:
        for draw in range(_CONTENTS):
            if draw:
                if (draw - 1) % count == 0:
                    worlds = draw_worlds(schema, rng, focuses, first, count)
                runner.load(first | worlds.rows((draw - 1) % count))
            expected = runner.states(statements, tables)
            if expected is None or (draw == 0 and expected == runner.states((), tables)):
                return None
            told = {other for other in alive if tells(other) and tells(read_elsewhere(other, right))}
            alive = [other for other in alive if other not in told]
            if told or len(kept) < FEWEST:
                image = Database(image=runner.connection.serialize())
                states = runner.states(statements, schema.names) or []
                kept.append((image, tuple(map(round_floats, states))))
            if draw == _FIRST:
                # Proofs take time, so they run on the remaining near misses only.
                normal = _normal_form(change, schema)
                alive = [other for other in alive if _normal_form(misses[other][1], schema) != normal]
                if len(alive) > max(_HOPELESS * len(misses), _HOPEFUL):
                    return None
            if len(kept) >= FEWEST and not alive:
                break
    survivors = tuple((misses[other][0], other) for other in alive if misses[other][0] != ORDER)
    return ChangeWitnesses(tuple(kept), tuple(kind for kind, _ in misses.values()), survivors)


def _differ(found: list[list[tuple]], expected: list[list[tuple]]) -> bool:
    return any(round_floats(one) != round_floats(other) for one, other in zip(found, expected))


def _normal_form(change: Change, schema: Schema) -> list[Any]:
    """Return a form that is equal for changes whose steps select the same rows."""
    found: list[Any] = []
    for step in (part for whole in change.steps for part in take_apart(whole, schema)):
        if isinstance(step, InsertValues):
            found.append(step)
            continue
        rows, rest = step.rows, replace(step, rows=SelectQuery((), step.rows.table))
        first = rows.where[0] if len(rows.where) == 1 and not rows.joins else None
        if isinstance(first, IsAmong) and not first.negated:
            found.append((rest, first.left, normal_form(first.query, schema)))
        else:
            found.append((rest, normal_form(rows, schema)))
    return found


def choose_focuses(change: Change, schema: Schema) -> list[Focus]:
    """Choose the focuses of contents for the conditions of all steps."""
    names = set(re.findall(r"\w+", change.sql()))
    tables = names.intersection(schema.names)
    focuses = [focus for query in _queries(change) for focus in choose_focus(query, schema)]
    if not focuses:
        focuses = [Focus(tables, {})]
    return [with_fields(focus, tables=tables, names=names) for focus in focuses]


def _queries(change: Change) -> Iterator[SelectQuery]:
    for step in change.steps:
        if isinstance(step, InsertValues):
            continue
        yield step.rows
        for one in step.sets if isinstance(step, UpdateRows) else ():
            if isinstance(one, SetColumn) and isinstance(one.value, CaseValue):
                yield replace(step.rows, where=(*step.rows.where, one.value.condition))
        if isinstance(step, DeleteRows) and (step.children or step.cleared):
            # Some rows have nothing that refers to them.
            yield step.rows
