from __future__ import annotations

import pytest
from palaestra.envs.datasets.layouts import Fields, UnusableRecord
from palaestra.envs.sql.query_sets.query_record import BIRD, SPIDER, list_clauses, rate_query, read_bird, read_spider
from palaestra.errors import InputError

NESTED = (
    "SELECT a, (SELECT MAX(b) FROM t WHERE c > 1) FROM u JOIN v ON x = y WHERE d IN (SELECT e FROM w) "
    "GROUP BY a LIMIT 3"
)


def test_clauses_are_those_outside_parentheses_and_quotes():
    assert list_clauses(NESTED) == [
        *("FROM u JOIN v ON x = y", "WHERE d IN (SELECT e FROM w)", "GROUP BY a"),
        *("SELECT a, (SELECT MAX(b) FROM t WHERE c > 1)", "LIMIT 3"),
    ]
    assert list_clauses("select 'FROM x' from t union select b from u order  by 1") == [
        *("from t", "from u", "select 'FROM x'", "select b", "union", "order  by 1")
    ]


@pytest.mark.parametrize(
    ("query", "level"),
    [
        ("SELECT a FROM t", 1),
        ("SELECT a FROM t WHERE b = 1", 1),
        ("SELECT a FROM t WHERE b = 1 AND c = 2 ORDER BY a", 2),
        ("SELECT a FROM t WHERE b IN (SELECT c FROM u) ORDER BY a", 3),
        (NESTED, 4),
    ],
)
def test_levels_count_what_a_query_has(query: str, level: int):
    assert rate_query(query) == level


def test_records_are_read():
    spider = read_spider(Fields({"db_id": "d", "question": "Q?", "query": "SELECT 1 ;"}, "x", SPIDER.asks), 0)
    assert (spider.database, spider.question, spider.answer, spider.rung) == ("d", "Q?", "SELECT 1", 1)
    record = {"db_id": "d", "question": "Q?", "SQL": NESTED, "evidence": " e ", "difficulty": "moderate"}
    bird = read_bird(Fields(record, "x", BIRD.asks), 0)
    assert (bird.evidence, bird.rung) == ("e", 2)
    del record["difficulty"]
    assert read_bird(Fields(record, "x", BIRD.asks), 0).rung == 3
    with pytest.raises(UnusableRecord, match="gigantic"):
        read_bird(Fields({**record, "difficulty": "gigantic"}, "x", BIRD.asks), 0)
    with pytest.raises(InputError, match="db_id"):
        read_spider(Fields({"db_id": "../x", "question": "Q?", "query": "SELECT 1"}, "x", SPIDER.asks), 0)
