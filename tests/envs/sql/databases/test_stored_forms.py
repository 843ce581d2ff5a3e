"""Forms of untidy values: what is kept, and the SQL that tidies it."""

from __future__ import annotations

import sqlite3

import pytest
from palaestra.envs.sql.databases.stored_forms import find_form

DRAWS = (0.0, 0.2, 0.4, 0.6, 0.8, 0.99)
VALUES = {
    "case": ("retail", "trade", None),
    "spaces": ("Ann Lee", "Bo Berg", None),
    "unit km": (200, 1200, 4000, None),
    "unit ": (500, 9000),
    "currency EUR": (12.5, 40.0, None),
    "mark -1": (3, 0, None),
    "word N/A": ("mild", None),
    "word ": ("mild", None),
    "dates": ("2022-03-05", "2023-12-24", None),
}


@pytest.mark.parametrize("stored", VALUES)
def test_a_form_is_tidied_by_its_function_and_by_its_query_and_by_no_other(stored):
    form = find_form(stored)
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE TABLE t (x {'TEXT' if form.is_text else 'REAL'}, tidy)")
    for value in VALUES[stored]:
        for draw in DRAWS:
            kept = form.soil(value, draw)
            assert form.tidy(kept) == value
            connection.execute("INSERT INTO t VALUES (?, ?)", (kept, value))

    def wrong(text):
        return connection.execute(f"SELECT COUNT(*) FROM t WHERE {text.replace('{}', 'x')} IS NOT tidy").fetchone()[0]

    assert wrong(form.clean) == 0
    assert all(map(wrong, form.wrong))
    assert form.marks_missing == (form.soil(None, 0.5) is not None)
    connection.close()


def test_values_are_kept_as_people_write_them():
    def kept(stored, value):
        return {find_form(stored).soil(value, draw) for draw in DRAWS}

    assert kept("case", "trade") == {"trade", "TRADE", "Trade", " trade", "Trade ", " TRADE "}
    assert kept("unit km", 1200) == {"1,200 km"}
    assert kept("currency EUR", 12.5) == {"EUR 12.5"}
    assert kept("dates", "2022-03-05") == {"2022-03-05", "05.03.2022"}
