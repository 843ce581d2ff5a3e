"""Databases of published data sets: one folder for each, with one or more files of SQLite.

The built-in data sets have no folders: their databases are made from a seed.
"""

from __future__ import annotations

import contextlib
import functools
import sqlite3
from pathlib import Path

from ....errors import InputError, shorten
from ....rewards.verifiers.sql import Database
from ..databases.contents import draw_rows, make_database
from ..databases.domains import read_domains
from ..outcomes import describe_rows, try_query

# Names of the folder of databases, beside the records or one level up.
FOLDERS = ("database", "test_database", "dev_databases", "train_databases", "databases")
# Maximum files of one database that judge an answer, and seeds of generated databases.
MOST_FILES, _SEEDS = 64, (1, 2, 3)
# Maximum characters of a schema in a prompt.
MOST_SCHEMA = 10_000


def find_folder(records: Path) -> Path:
    """Find the folder of databases beside a file of records, or beside its folder.

    Raises:
        InputError: the folder is missing.
    """
    for place in (records.parent, records.parent.parent):
        for name in FOLDERS:
            if (place / name).is_dir():
                return place / name
    raise InputError(
        f"there is no folder {', '.join(FOLDERS)} beside {records}; say where the databases are, such as "
        "databases='spider/database'."
    )


def check_databases(folder: Path, names: set[str]) -> None:
    """Raise InputError unless each database has a file."""
    for name in sorted(names):
        if not list_files(folder, name):
            raise InputError(
                f"there is no {name}/{name}.sqlite in {folder}; give the folder of the data set's databases as "
                "databases=."
            )


def list_files(folder: Path, name: str) -> list[Path]:
    """List the files of a database: ``NAME/NAME.sqlite``, then others of that folder, as a distilled test suite has."""
    files = [path for path in sorted((folder / name).glob("*.sqlite")) if path.is_file()]
    return sorted(files, key=lambda path: path.stem != name)[:MOST_FILES]


def load_databases(folder: str, name: str) -> tuple[Database, ...]:
    """Return the databases of one name, starting with the one shown in prompts. If ``folder`` is empty, they are made
    from a seed."""
    if not folder:
        return _make_databases(name)
    return tuple(Database(path=str(path)) for path in list_files(Path(folder), name))


@functools.cache
def _make_databases(name: str) -> tuple[Database, ...]:
    schema = next((domain for domain in read_domains() if domain.domain == name), None)
    if schema is None:
        raise InputError(f"there is no database {shorten(repr(name))} in this package.")
    found = []
    for seed in _SEEDS:
        with contextlib.closing(make_database(schema, draw_rows(schema, seed))) as connection:
            found.append(Database(image=connection.serialize()))
    return tuple(found)


@functools.lru_cache(maxsize=256)
def describe_schema(database: Database, sample_rows: int) -> str:
    """Write the CREATE TABLE statements with sample rows in comments; if they exceed `MOST_SCHEMA` characters, only the
    names of tables and columns, as many as fit."""
    tables = try_query(
        "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid", database
    )
    names = [(name, '"' + name.replace('"', '""') + '"') for name, _ in tables.rows or ()]
    lines = []
    for (_, create), (_, quoted) in zip(tables.rows or (), names):
        lines.append(f"{' '.join(create.split()).rstrip(';')};")
        if sample_rows:
            shown = describe_rows(try_query(f"SELECT * FROM {quoted} LIMIT {sample_rows}", database).rows or (), 99)
            lines += [f"-- {line}" for line in shown.split("\n")[1:]]
    text = "\n".join(lines)
    if len(text) <= MOST_SCHEMA:
        return text
    kept: list[str] = []
    for name, quoted in names:
        line = f"{name} ({', '.join(_list_columns(database, quoted))})"
        if sum(map(len, kept)) + len(kept) + len(line) > MOST_SCHEMA:
            return "\n".join([*kept, f"(and {len(names) - len(kept)} more tables)"])
        kept.append(line)
    return "\n".join(kept)


def _list_columns(database: Database, quoted: str) -> list[str]:
    if database.path is None:
        connection = sqlite3.connect(":memory:")
        connection.deserialize(database.image or b"")
    else:
        connection = sqlite3.connect(f"{Path(database.path).absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    with contextlib.closing(connection):
        return [row[1] for row in connection.execute(f"PRAGMA table_info({quoted})")]
