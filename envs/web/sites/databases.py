"""Databases of sites: their contents, a pool of connections, and a fast way to insert many rows.

A content is immutable and identified by its object, so that most tasks are drawn, started, shown and solved with
connections that have the content already.
"""

from __future__ import annotations

import itertools
import sqlite3
import threading
from collections.abc import Iterable, Sequence
from typing import Any

Content = bytes | tuple[tuple[str, Any], ...]
"""State of a site: the database as bytes or, for a portal, pairs (name, database) of all sites."""


class SiteDatabase(sqlite3.Connection):
    """Connection to a database in memory. It is closed with its last reference: since Python 3.13, an open one that is
    dropped warns.

    Attributes:
        content: what `load` has read or `save` has returned last.
        saved: `total_changes` at that time.
    """

    content: bytes = b""
    saved = 0

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        # Rows that `read` has returned, and `total_changes` at that time.
        self._rows: dict[str, list[tuple[Any, ...]]] = {}
        self._rows_of = -1

    def __del__(self) -> None:
        self.close()

    @property
    def is_unchanged(self) -> bool:
        """True if nothing has been written since ``content``."""
        return self.total_changes == self.saved

    def load(self, content: bytes) -> None:
        """Replace the content."""
        self.deserialize(content)
        self.content, self.saved, self._rows_of = content, self.total_changes, -1

    def read(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query as tuples: the same list as before unless something has been written since."""
        # What is rolled back is not counted as a change.
        if self._rows_of != self.total_changes:
            self._rows, self._rows_of = {}, -1 if self.in_transaction else self.total_changes
        if sql not in self._rows:
            cursor = self.cursor()
            cursor.row_factory = None
            self._rows[sql] = cursor.execute(sql).fetchall()
        return self._rows[sql]

    def save(self) -> bytes:
        """Return the content as bytes: the same object as before unless something has been written since."""
        if not self.is_unchanged:
            self.content, self.saved = self.serialize(), self.total_changes
        return self.content


# The latest released is the last.
_idle: list[SiteDatabase] = []
_CHOOSING = threading.Lock()
MOST_IDLE = 16
_SCHEMA = slice(60, 64)
"""Place of SQLite's user version in a database; `_make_tables` stores a number of the schema there."""


class Databases(dict[str, SiteDatabase]):
    """Databases of several sites by name, for tasks across sites."""

    def save(self) -> tuple[tuple[str, bytes], ...]:
        return tuple((name, one.save()) for name, one in self.items())


def connect(content: Content) -> Any:
    """Return an in-memory database with this content, or `Databases` for a portal. Rows can be read by column name.

    Connections kept by `release` are reused: one that has the content already, or else one with the same schema, as
    prepared queries remember columns. Both reading a schema and opening a connection take longer than most pages.
    """
    if isinstance(content, tuple):
        return Databases({name: connect(part) for name, part in content})
    alike = None
    with _CHOOSING:
        for place, one in enumerate(_idle):
            if one.content is content and one.is_unchanged:
                return _idle.pop(place)
            if alike is None and one.content[_SCHEMA] == content[_SCHEMA] != bytes(4):
                alike = place
        database = open_database() if alike is None else _idle.pop(alike)
    database.load(content)
    return database


def release(database: SiteDatabase | Databases) -> None:
    """Give connections back to the pool of `connect`. Those in a transaction are closed, and the oldest of too many."""
    if isinstance(database, Databases):
        for one in database.values():
            release(one)
        return
    with _CHOOSING:
        if not database.in_transaction:
            _idle.append(database)
            if len(_idle) <= MOST_IDLE:
                return
            database = _idle.pop(0)
    database.close()


def open_database() -> SiteDatabase:
    database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False, factory=SiteDatabase)
    database.row_factory = sqlite3.Row
    return database


# Rows inserted with one statement, which SQLite has to prepare once for each table.
_AT_ONCE = 32


def insert_rows(database: sqlite3.Connection, table: str, rows: Iterable[Sequence[Any]]) -> None:
    """Insert rows of equal length; many rows take about half the time of ``executemany``.

    Args:
        database: the database.
        table: the name of the table, followed by the columns in parentheses if a row has not all of them.
        rows: the rows.
    """
    left = list(rows)
    if not left:
        return
    row = f"({', '.join('?' * len(left[0]))})"
    if len(left) >= 2 * _AT_ONCE:
        sql = f"INSERT INTO {table} VALUES {', '.join([row] * _AT_ONCE)}"
        end = len(left) - len(left) % _AT_ONCE
        for start in range(0, end, _AT_ONCE):
            database.execute(sql, [*itertools.chain.from_iterable(left[start : start + _AT_ONCE])])
        left = left[end:]
    database.executemany(f"INSERT INTO {table} VALUES {row}", left)
