"""Clause-wise similarity: shares worked out by hand, and what does not count."""

from __future__ import annotations

import pytest
from palaestra.errors import InputError
from palaestra.rewards.verifiers.sql_clauses import clause_similarity, compare_clauses

GOLD = (
    "SELECT s.name, COUNT(*) FROM sale AS s JOIN store ON store.id = s.store_id "
    "WHERE s.price > 3 AND s.cost IS NOT NULL GROUP BY s.name HAVING COUNT(*) > 2 ORDER BY COUNT(*) DESC LIMIT 3"
)
ALL = dict.fromkeys(("select", "from", "where", "group", "having", "order", "limit"), 1.0)


@pytest.mark.parametrize(
    "same",
    [
        GOLD,
        f"```sql\n{GOLD.replace('SELECT', 'select')};\n```",
        "SELECT name, count(*) AS n FROM sale JOIN store ON sale.store_id = store.id "
        "WHERE (cost IS NOT NULL) AND 3 < price GROUP BY name HAVING 2 < COUNT(*) ORDER BY COUNT(*) DESC LIMIT 3 --",
    ],
)
def test_case_aliases_qualifiers_and_the_order_of_conditions_do_not_count(same: str):
    assert compare_clauses(same, GOLD) == ALL
    assert clause_similarity(same, GOLD) == 1.0


@pytest.mark.parametrize(
    ("change", "clause", "share"),
    [
        (("s.name, COUNT(*) FROM", "s.name FROM"), "select", 1 / 2),
        (("SELECT s.name", "SELECT DISTINCT s.name"), "select", 2 / 3),
        (("JOIN store", "LEFT JOIN store"), "from", 2 / 4),
        (("store.id = s.store_id", "store.id = s.id"), "from", 2 / 4),
        (("price > 3", "price >= 3"), "where", 1 / 3),
        ((" AND s.cost IS NOT NULL", ""), "where", 1 / 2),
        (("GROUP BY s.name", "GROUP BY s.name, s.cost"), "group", 1 / 2),
        (("HAVING COUNT(*) > 2", ""), "having", 0.0),
        (("COUNT(*) DESC", "COUNT(*)"), "order", 0.0),
        (("LIMIT 3", "LIMIT 4"), "limit", 0.0),
    ],
)
def test_one_change_costs_its_clause_alone(change: tuple[str, str], clause: str, share: float):
    assert compare_clauses(GOLD.replace(*change), GOLD) == {**ALL, clause: pytest.approx(share)}
    assert clause_similarity(GOLD.replace(*change), GOLD) == pytest.approx((6 + share) / 7)


def test_set_operations_are_compared_side_by_side():
    gold = "SELECT a FROM t UNION SELECT b FROM u ORDER BY 1"
    assert compare_clauses("SELECT a FROM t UNION ALL SELECT b FROM u ORDER BY 1", gold)["set"] == 0.0
    assert compare_clauses("SELECT b FROM u UNION SELECT a FROM t ORDER BY 1", gold) == {
        **{"select": 0.0, "from": 0.0, "order": 1.0, "set": 1.0}
    }
    # One of two sides.
    assert compare_clauses("SELECT a FROM t", gold) == {"select": 0.5, "from": 0.5, "order": 0.0, "set": 0.0}


@pytest.mark.parametrize(
    "text", ["", "no query (", "DROP TABLE sale", "VALUES (1)", "SELECT " + "(" * 60 + "1" + ")" * 60, "x" * 30_000]
)
def test_what_is_no_query_has_nothing_in_common(text: str):
    assert compare_clauses(text, GOLD) == {}
    assert clause_similarity(text, GOLD) == 0.0


def test_a_right_query_that_cannot_be_parsed_is_refused():
    with pytest.raises(InputError, match="cannot be parsed"):
        compare_clauses("SELECT 1", "no query (")
