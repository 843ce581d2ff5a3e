from __future__ import annotations

from palaestra.envs.sql.outcomes import QueryOutcome, describe_rows, draw_table, try_query, write_cell
from palaestra.rewards.verifiers.sql import Database

SHOP = Database(schema="CREATE TABLE sale (price REAL, note TEXT); INSERT INTO sale VALUES (2.5, 'a'), (4, NULL);")


def test_an_outcome_is_rows_or_one_sentence():
    assert try_query("SELECT price FROM sale", SHOP) == QueryOutcome(((2.5,), (4.0,)), columns=("price",))
    assert try_query("SELECT cost FROM sale", SHOP) == QueryOutcome(None, "The query fails: no such column: cost.")
    assert try_query("DELETE FROM sale", SHOP) == QueryOutcome(None, "The query fails: not authorized.")
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    assert try_query(endless, SHOP, seconds=0.05) == QueryOutcome(None, "The query did not finish within 0.05 s.")
    assert try_query("SELECT price FROM sale", SHOP).rows == ((2.5,), (4.0,))


def test_tables_have_a_head_and_fit_into_so_many_characters():
    rows = ((1, "North Hall", None), (20, "Mill", 2.5), (3, "x" * 99, 1.0))
    assert draw_table(("id", "name", "price"), rows[:2], 12, 500).split("\n") == [
        "2 rows:",
        "id | name       | price",
        "---+------------+------",
        " 1 | North Hall |  NULL",
        "20 | Mill       |   2.5",
    ]
    assert draw_table(("id", "name", "price"), rows, 2, 500).startswith("3 rows, the first 2:\nid | name       |")
    assert draw_table(("id", "name", "price"), rows, 12, 120).startswith("3 rows, the first 2:\nid | name       |")
    assert len(draw_table(["c" * 50] * 90, (tuple(range(90)),), 12, 300)) <= 300
    assert draw_table(("id",), (), 12, 100) == "no rows"


def test_rows_are_told_in_a_few_lines():
    assert describe_rows((), 3) == "no rows"
    assert describe_rows(((1, None),), 3) == "1 row:\n1 | NULL"
    assert describe_rows(((1.25, "a\nb"), (1 / 3, "x" * 99), (2, "")), 2) == (
        f"3 rows, the first 2:\n1.25 | a b\n0.333333333333 | {'x' * 57}..."
    )
    assert [write_cell(value) for value in (1e30, 4.0, True, b"a")] == ["1e+30", "4", "True", "b'a'"]
