"""Queries: results as multisets, order where the gold query orders, and a database that nothing can change."""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palaestra.errors import InputError
from palaestra.rewards import verify
from palaestra.rewards.verifiers import sql as verifier
from palaestra.rewards.verifiers.sql import (
    Database,
    OperationCounter,
    QueryError,
    executes,
    open_database,
    read_result,
    run_query,
)
from palaestra.rewards.verifiers.sql_similarity import ngram_jaccard, schema_jaccard, sql_tokens

from ...patience import least_processor_seconds  # isort: skip

SCHEMA = """
CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, price REAL);
INSERT INTO t VALUES (1, 'ann', 0.1), (2, 'bob', 0.2), (3, 'ann', 0.3);
"""


def judge(answer: str, gold: str, **options: Any) -> Any:
    return verify("sql", answer, {"schema": SCHEMA, "gold": gold}, **options)


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("SELECT name FROM t", "SELECT name FROM t"),
        ("select NAME as n from T;", "SELECT name FROM t"),
        ("SELECT name FROM t ORDER BY id DESC", "SELECT name FROM t"),
        ("```sql\nSELECT count(*) FROM t\n```", "SELECT 3"),
        ("SELECT sum(price) FROM (SELECT price FROM t ORDER BY id DESC)", "SELECT sum(price) FROM t"),
        ("WITH x AS (SELECT max(id) AS m FROM t) SELECT m FROM x", "SELECT 3.0"),
        ("SELECT name FROM t ORDER BY id -- by id", "SELECT name FROM t ORDER BY id"),
        (
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n",
            "SELECT id FROM t",
        ),
    ],
)
def test_the_same_result_is_right(answer: str, gold: str):
    assert judge(answer, gold).success


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("SELECT DISTINCT name FROM t", "SELECT name FROM t"),
        ("SELECT id FROM t ORDER BY id DESC", "SELECT id FROM t ORDER BY id"),
        ("SELECT name FROM t WHERE id < 3", "SELECT name FROM t"),
        ("SELECT name, id FROM t", "SELECT id, name FROM t"),
        ("SELECT '1'", "SELECT 1"),
        ("SELECT 1 WHERE 0", "SELECT name FROM t"),
        ("SELECT NULL", "SELECT 0"),
    ],
)
def test_another_result_is_wrong(answer: str, gold: str):
    verdict = judge(answer, gold)
    assert (verdict.score, verdict.valid, verdict.malformed) == (0.0, True, False)


@pytest.mark.parametrize(
    "answer",
    [
        *(
            "",
            ";",
            "-- nothing",
            "nonsense",
            "SELECT nothing FROM t",
            "SELECT 1; SELECT 1",
            "DELETE FROM t",
            "DROP TABLE t",
        ),
        *("INSERT INTO t VALUES (9, 'x', 1)", "UPDATE t SET id = id", "PRAGMA query_only = OFF", "BEGIN", "VACUUM"),
        *(
            "ATTACH 'canary.db' AS c",
            "SELECT load_extension('x')",
            "CREATE TABLE u (a)",
            "SELECT 1\0",
            "SELECT '\ud800'",
        ),
        *(
            "WITH x AS (SELECT 1) DELETE FROM t",
            "SELECT * FROM pragma_table_info('t')",
            "SELECT hex(zeroblob(100000000))",
        ),
        *("SELECT " + "(" * 5_000 + "1" + ")" * 5_000, "SELECT " + "1," * 40_000 + "1", "VACUUM INTO 'canary.db'"),
    ],
)
def test_what_does_not_read_is_malformed_and_changes_nothing(
    answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "data.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(SCHEMA)
    connection.close()
    before = path.read_bytes()
    for reference in ({"schema": SCHEMA}, {"database": str(path)}):
        verdict = verify("sql", answer, {**reference, "gold": "SELECT name FROM t"})
        assert (verdict.score, verdict.valid, verdict.malformed) == (0.0, True, True)
        assert len(verdict.feedback) < 200
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["data.sqlite"]
    assert verify("sql", "SELECT name FROM t", {"database": str(path), "gold": "SELECT name FROM t"}).success


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"


def test_a_query_without_end_is_wrong_and_its_neighbour_is_judged():
    verdict = judge(ENDLESS, "SELECT 1", seconds=0.1)
    assert (verdict.score, verdict.valid) == (0.0, True)
    assert "0.1 s" in verdict.feedback
    assert judge("SELECT 1", "SELECT 1").success


def test_no_function_of_sqlite_takes_longer_than_the_limit():
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        names = [name for (name,) in connection.execute("SELECT DISTINCT name FROM pragma_function_list")]
    assert len(names) > 50
    long = "hex(zeroblob(49000))"
    values = ["2147483647", "1e308", "'%.*c'", "'%.2147483647c'", "'%2147483647d'", "x'252e2a63'", long]
    values += [f"replace({long}, '00', '%_a')", "'+1000000 days'", "'$.a'"]
    for name in names:
        for count in (1, 2, 3):
            for arguments in itertools.product(values, repeat=min(count, 2)):
                query = f'SELECT "{name}"({", ".join((*arguments, long)[:count])})'

                def run(query: str = query) -> None:
                    with contextlib.suppress(QueryError, TimeoutError):
                        run_query(query, Database(schema=SCHEMA), seconds=0.1)

                assert least_processor_seconds(run, 0.5) < 0.5, query[:100]


def test_printf_is_that_of_sqlite_but_for_characters_repeated_without_end():
    query = "SELECT printf('%.2f|%5d|%-4s|%q|%,d|%%', 1.5, 2, 'a', 'it''s', 12345), format('%.3c', 'x'), printf(NULL)"
    assert run_query(query, Database(schema=SCHEMA)) == (("1.50|    2|a   |it''s|12,345|%", "xxx", None),)
    with pytest.raises(QueryError, match="printf cannot write this"):
        run_query("SELECT printf('%.*c', 5, 'x')", Database(schema=SCHEMA))
    # Each conversion is within the bound, and the ten thousand of them are not.
    many = "SELECT printf(replace(hex(zeroblob(5000)), '0', '%.99999c'), 'x')"

    def run() -> None:
        with pytest.raises(QueryError):
            run_query(many, Database(schema=SCHEMA), seconds=0.1)

    assert least_processor_seconds(run, 0.5) < 0.5


def test_a_gold_query_without_end_is_no_verdict():
    assert not judge("SELECT 1", ENDLESS, seconds=0.1).valid


def test_deadlines_work_off_the_main_thread():
    verdicts: list[Any] = []
    thread = threading.Thread(target=lambda: verdicts.append(judge(ENDLESS, "SELECT 1", seconds=0.1)))
    thread.start()
    thread.join()
    assert verdicts[0].valid


def test_too_many_rows_are_refused():
    answer = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
    assert judge(answer, "SELECT 1", max_rows=10).malformed


WIDE = "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 10000) SELECT {} FROM c"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (WIDE.format("hex(zeroblob(49000))"), "32 MB"),
        (WIDE.format(", ".join(["hex(zeroblob(49000))"] * 300)), "32 MB"),
        (WIDE.format("length(json_group_array(hex(zeroblob(40000))))"), "not authorized"),
        (WIDE.format("length(json_group_object(i, hex(zeroblob(40000))))"), "not authorized"),
        (WIDE.format("length(group_concat(hex(zeroblob(40000))))"), "too big"),
    ],
)
def test_a_result_that_would_fill_the_memory_is_refused_before_it_does(answer: str, reason: str):
    verdict = judge(answer, "SELECT 1")
    assert verdict.malformed
    assert reason in verdict.feedback


def test_a_result_of_many_small_rows_is_no_large_one():
    answer = WIDE.format("i, i * 2, 'some text', i / 3.0")
    assert judge(answer, answer).success


def test_a_gold_query_without_rows_tells_nothing_apart():
    with pytest.raises(InputError, match="no rows"):
        judge("SELECT 1 WHERE 0", "SELECT name FROM t WHERE id > 9")
    assert judge("SELECT name FROM t WHERE id > 9", "SELECT name FROM t WHERE id > 8", allow_empty=True).success


def test_a_missing_column_has_no_syntax_and_raises_nothing():
    database = Database(schema=SCHEMA)
    assert not executes("SELECT missing FROM t", database)
    assert not executes("DELETE FROM t", database)
    assert executes("SELECT id FROM t", database)
    assert run_query("SELECT count(*) FROM t", database) == ((3,),)


def test_schema_links():
    pytest.importorskip("sqlglot")
    # gold: tables a, b and columns x, y, z; predicted: a and x, y
    gold = "SELECT a.x, b.y FROM a JOIN b ON a.z = b.z"
    assert schema_jaccard("SELECT x, y FROM a", gold) == 3 / 5
    assert schema_jaccard(gold.lower(), gold) == 1.0
    assert schema_jaccard("WITH q AS (SELECT x, y, z FROM a JOIN b) SELECT x FROM q", gold) == 1.0
    assert schema_jaccard("SELECT 1", gold) == schema_jaccard("nonsense(", gold) == schema_jaccard("", gold) == 0.0
    assert schema_jaccard("SELECT " + "(" * 5_000 + "1" + ")" * 5_000, gold) == 0.0
    assert schema_jaccard("SELECT " + "NOT " * 4_000 + "x FROM a", gold) <= 0.4
    with pytest.raises(InputError, match="gold"):
        schema_jaccard("SELECT 1", "SELECT 1")


def test_ngrams():
    assert sql_tokens("SELECT a.x, 'b c' FROM t -- end\n WHERE y>=1.5;") == [
        *("select", "a", ".", "x", ",", "'b c'", "from", "t", "where", "y", ">=", "1.5")
    ]
    # bigrams: gold sa, af, ft; predicted sb, bf, ft: 1 of 5
    assert ngram_jaccard("SELECT b FROM t", "SELECT a FROM t") == 1 / 5
    assert ngram_jaccard("select A from T;", "SELECT a FROM t") == 1.0
    assert ngram_jaccard("", "SELECT a FROM t") == ngram_jaccard("x" * 10**6, "SELECT a FROM t") == 0.0
    assert ngram_jaccard("a", "a", n=3) == 1.0


@settings(deadline=None, max_examples=50)
@given(st.text(max_size=60) | st.text(alphabet="SELECT FROM t*()',;id-/\"`[]1=", max_size=60))
def test_any_text_gets_a_verdict(text: str):
    assert judge(text, "SELECT name FROM t").valid
    assert 0.0 <= ngram_jaccard(text, "SELECT name FROM t") <= 1.0


@pytest.mark.parametrize(
    "reference",
    [
        *(
            None,
            {},
            {"gold": "SELECT 1"},
            {"schema": 3, "gold": "SELECT 1"},
            {"schema": "nonsense", "gold": "SELECT 1"},
            {"schema": [SCHEMA], "gold": "SELECT 1", "tied": [1]},
        ),
        *({"schema": SCHEMA, "gold": "SELECT nothing"}, {"database": "no such file", "gold": "SELECT 1"}),
    ],
)
def test_a_reference_that_cannot_be_used_is_refused(reference: Any):
    with pytest.raises(InputError):
        verify("sql", "SELECT 1", reference)


def test_a_query_must_be_right_on_every_database():
    other = SCHEMA.replace("(3, 'ann', 0.3)", "(3, NULL, 0.3)")
    both = {"schema": [SCHEMA, other], "gold": "SELECT count(name) FROM t"}
    assert verify("sql", "SELECT count(*) FROM t", {**both, "schema": [SCHEMA]}).success
    assert not verify("sql", "SELECT count(*) FROM t", both).success
    assert verify("sql", "SELECT count(*) FROM t WHERE name IS NOT NULL", both).success
    # A database without rows for the gold query is fine beside one with some.
    some = {"schema": [SCHEMA, other], "gold": "SELECT id FROM t WHERE name IS NULL"}
    assert verify("sql", "SELECT 3 WHERE EXISTS (SELECT 1 FROM t WHERE name IS NULL)", some).success
    with pytest.raises(InputError, match="needs"):
        verify("sql", "SELECT 1", {"schema": [], "gold": "SELECT 1"})


def test_the_time_is_shared_by_the_databases():
    reference = {"schema": [SCHEMA, f"{SCHEMA}--", f"{SCHEMA}---"], "gold": "SELECT 1"}

    def judge_it() -> None:
        assert verify("sql", f"SELECT 1 FROM ({ENDLESS})", reference, seconds=0.1).malformed

    assert least_processor_seconds(judge_it, 0.3) < 0.3


NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) SELECT SUM(i) FROM n"


def test_operations_are_counted_in_the_same_way_each_time_and_limited():
    counts = set()
    for _ in range(20):
        counter = OperationCounter()
        assert read_result(NUMBERS, Database(schema=SCHEMA), counter=counter)[1] == [(4_501_500,)]
        counts.add(counter.count)
    (count,) = counts
    assert count > 20_000
    read_result(NUMBERS, Database(schema=SCHEMA), counter=OperationCounter(count))
    with pytest.raises(TimeoutError, match=f"more than {count - 1_000:,} operations"):
        read_result(NUMBERS, Database(schema=SCHEMA), counter=OperationCounter(count - 1_000))


def test_databases_of_scripts_are_cached_up_to_their_size(monkeypatch):
    monkeypatch.setattr(verifier, "_IMAGES", type(verifier._IMAGES)())
    scripts = [f"{SCHEMA} CREATE TABLE u{n} (a);" for n in range(4)]
    for script in scripts:
        open_database(Database(schema=script)).close()
    assert list(verifier._IMAGES) == scripts
    size = len(verifier._IMAGES[scripts[0]])
    monkeypatch.setattr(verifier, "MAX_CACHED", 2 * size)
    open_database(Database(schema=scripts[2])).close()
    open_database(Database(schema=SCHEMA)).close()
    assert list(verifier._IMAGES) == [scripts[2], SCHEMA]
    monkeypatch.setattr(verifier, "MAX_CACHED", 1)
    open_database(Database(schema=scripts[0])).close()
    assert list(verifier._IMAGES) == [scripts[0]]
