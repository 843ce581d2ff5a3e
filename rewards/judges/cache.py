"""Cache of a judge's replies on disk, so that a resumed or repeated run sends each question to the endpoint once.

SQLite does the locking: several threads and processes may share a file. Only replies that could be read are stored.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...errors import InputError

_PATIENCE = 60.0
"""Seconds to wait for a lock held by another process."""


class ReplyCache:
    """File that maps questions to replies.

    Args:
        path: the file; it is created, with its folder, if it does not exist.

    Raises:
        InputError: the file is not a reply cache or cannot be written; raised by the methods as well.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"the folder of the judge's cache {str(self.path)!r} cannot be made: {error}.") from error
        with self._open() as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL)")

    @staticmethod
    def key(model: str, messages: Any, settings: Any) -> str:
        """Hash a question to the hexadecimal digits of its SHA-256."""
        text = json.dumps([model, messages, settings], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def get(self, key: str) -> str | None:
        """Return the reply stored under ``key``, or None."""
        with self._open() as connection:
            row = connection.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def put(self, key: str, reply: str) -> None:
        """Store ``reply`` in one transaction, so that a killed process leaves all of it or nothing."""
        with self._open() as connection:
            connection.execute("INSERT OR REPLACE INTO replies VALUES (?, ?)", (key, reply))

    def __len__(self) -> int:
        with self._open() as connection:
            return int(connection.execute("SELECT COUNT(*) FROM replies").fetchone()[0])

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        # A connection a call: none is shared between threads or inherited by a fork.
        try:
            connection = sqlite3.connect(self.path, timeout=_PATIENCE)
            try:
                with connection:
                    yield connection
            finally:
                connection.close()
        except sqlite3.Error as error:
            raise InputError(
                f"the judge's cache {str(self.path)!r} cannot be used ({error}); delete it or give another path."
            ) from error
