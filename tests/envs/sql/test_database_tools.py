"""Tools for databases: pages of a listing, and a search of names and comments."""

from __future__ import annotations

from typing import Any

import pytest
from palaestra.envs.sql.database_tools import FOUND, PAGE, SchemaSearcher, TableLister, split_columns
from palaestra.envs.sql.engines import make_engine
from palaestra.rewards.verifiers.sql import Database

SALE = """CREATE TABLE sale /* sales of all shops */ (sale_id INTEGER PRIMARY KEY, price DECIMAL(10, 2) /* in euros,
with tax */, kind TEXT DEFAULT 'a,b', "unit (each)" TEXT, FOREIGN KEY (price, kind) REFERENCES other (a, b))"""
MANY = "".join(
    f"CREATE TABLE part_{n:02} (id INTEGER, made_on TEXT /* day of making */); " for n in range(2 * PAGE + 3)
)


def look(tool: Any, script: str, **arguments: str) -> str:
    result = tool.look(arguments, make_engine("sqlite").load(Database(schema=script)))
    assert not result.failed
    assert len(result.output) <= 1_000
    return result.output


def test_a_statement_is_split_into_columns_with_their_comments():
    assert split_columns(SALE) == [
        "sale_id INTEGER PRIMARY KEY",
        "price DECIMAL(10, 2) /* in euros, with tax */",
        "kind TEXT DEFAULT 'a,b'",
        '"unit (each)" TEXT',
        "FOREIGN KEY (price, kind) REFERENCES other (a, b)",
    ]
    assert split_columns("") == split_columns("CREATE TABLE x") == []


def test_a_listing_has_pages_if_there_are_many_tables():
    lister = TableLister()
    assert [lister.parse(text) for text in ("tables", "list tables 2", "tables two")] == [{}, {"page": "2"}, None]
    assert look(lister, "CREATE TABLE a (b); CREATE TABLE c (d);") == "a (0 rows)\nc (0 rows)"
    pages = [look(lister, MANY, **({"page": str(n)} if n else {})).split("\n") for n in range(5)]
    assert pages[0] == pages[1]
    assert pages[0][0] == f"Page 1 of 3, {2 * PAGE + 3} tables in all:"
    assert pages[2][1] == f"part_{PAGE} (0 rows)"
    assert pages[3] == pages[4]
    assert [len(page) for page in pages[1:4]] == [PAGE + 1, PAGE + 1, 4]
    assert lister.parse(lister.write({"page": 3})) == {"page": "3"}


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("SALE", ["sale (5 columns) /* sales of all shops */", "sale: sale_id INTEGER PRIMARY KEY"]),
        ("shops", ["sale (5 columns) /* sales of all shops */"]),
        ("euro", ["sale: price DECIMAL(10, 2) /* in euros, with tax */"]),
        ("shops tax", ["sale: price DECIMAL(10, 2) /* in euros, with tax */"]),
        ("'unit'", ['sale: "unit (each)" TEXT']),
        ("create", ["No table, column or comment has 'create'."]),
    ],
)
def test_a_search_finds_words_of_names_and_comments(word: str, found: list[str]):
    assert look(SchemaSearcher(), f"{SALE};", word=word).split("\n") == found


def test_a_search_shows_the_first_matches_and_their_number():
    searcher = SchemaSearcher()
    assert searcher.parse("search day of") == searcher.parse("```\nfind day of\n```") == {"word": "day of"}
    assert searcher.parse("search") is None
    head, *lines = look(searcher, MANY, word="day of").split("\n")
    assert head == f"{2 * PAGE + 3} matches, the first {FOUND}:"
    assert lines[0] == "part_00: made_on TEXT /* day of making */"
    assert len(lines) == FOUND
    assert searcher.parse(searcher.write({"word": "day"})) == {"word": "day"}
    long = ", ".join(f"column_{n} TEXT DEFAULT '{'y' * 400}'" for n in range(20))
    assert look(searcher, f"CREATE TABLE x ({long});", word="column").startswith(
        "20 matches, the first 12:\nx: column_0"
    )
