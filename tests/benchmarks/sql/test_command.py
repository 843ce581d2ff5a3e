"""``palaestra bench sql``: labels that hold, and a table of both graders."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from palaestra.benchmarks.sql.command import main
from palaestra.benchmarks.sql.rewrites import equivalent_queries, wrong_queries
from palaestra.errors import InputError

GOLD = "SELECT AVG(a), COUNT(*) FROM t JOIN u ON u.b = t.b WHERE t.a >= 2 AND u.b IN (1, 2) GROUP BY t.b"
UNION = "SELECT a FROM t UNION SELECT b FROM u ORDER BY 1 DESC"
SCRIPT = """
CREATE TABLE t (a INTEGER, b INTEGER); CREATE TABLE u (b INTEGER);
INSERT INTO t VALUES (1, 1), (2, 1), (2, 1), (3, 2), (9, NULL), (4, 3); INSERT INTO u VALUES (1), (2), (3);
"""


def test_rewritten_queries_have_the_result_and_wrong_ones_mostly_another():
    connection = sqlite3.connect(":memory:")
    connection.executescript(SCRIPT)
    expected = connection.execute(GOLD).fetchall()
    rewritten = dict(equivalent_queries(GOLD, False))
    assert {"flipped comparison", "list of alternatives", "sum over count", "join of all pairs"} <= set(rewritten)
    assert all(text != GOLD and connection.execute(text).fetchall() == expected for text in rewritten.values())
    for query in (f"{GOLD} ORDER BY COUNT(*) DESC, t.b LIMIT 2", "SELECT DISTINCT b FROM t ORDER BY b DESC", UNION):
        sorts = {name: text for name, text in equivalent_queries(query, True) if name.startswith("order")}
        assert sorts
        assert all(
            connection.execute(text).fetchall() == connection.execute(query).fetchall() for text in sorts.values()
        )
    wrong = dict(wrong_queries(GOLD, expected))
    assert {"constant", "or for and", "aggregate of distinct", "group left out"} <= set(wrong)
    assert connection.execute(wrong["memorised result"]).fetchall() == expected
    assert sum(connection.execute(text).fetchall() != expected for text in wrong.values()) > len(wrong) / 2
    connection.close()


def test_several_databases_accept_fewer_wrong_queries_than_one(tmp_path: Path):
    file = tmp_path / "sql.json"
    numbers = {"--tasks": 8, "--contents": 15, "--speed-tasks": 2, "--probe-seeds": 1, "--script-tasks": 2}
    assert main([*(str(word) for pair in numbers.items() for word in pair), "--json", str(file)]) == 0
    ours, _, sets = json.loads(file.read_text())["graders"]
    assert ours["right"] == sets["right"] > 30
    assert ours["refused"] == 0
    assert ours["accepted"] < sets["accepted"] / 2


def test_an_unknown_engine_is_refused():
    with pytest.raises(InputError, match="unknown engine of SQL 'mysql'"):
        main(["--engines", "mysql"])


SETS_OF_ROWS = """
import sqlite3
print("some evaluators talk")
def compute_acc_by_diff(): ...
def execute_model(predicted, gold, file, index, seconds):
    found, expected = (sqlite3.connect(file).execute(text).fetchall() for text in (predicted, gold))
    return {"res": int(set(found) == set(expected))}
"""


def test_an_evaluator_of_another_benchmark_judges_the_same_queries(tmp_path: Path):
    (tmp_path / "evaluation.py").write_text(SETS_OF_ROWS)
    given = ["--evaluators", str(tmp_path / "evaluation.py"), "--json", str(tmp_path / "sql.json")]
    assert (
        main(
            [
                "--tasks",
                "4",
                "--contents",
                "15",
                "--speed-tasks",
                "1",
                "--probe-seeds",
                "1",
                "--script-tasks",
                "1",
                *given,
            ]
        )
        == 0
    )
    ours, _, sets, once, everywhere = json.loads((tmp_path / "sql.json").read_text())["graders"]
    assert [once["grader"], everywhere["grader"]] == ["BIRD, one database", "BIRD, all databases of the task"]
    assert (once["refused"], once["accepted"]) == (sets["refused"], sets["accepted"])
    assert ours["accepted"] < everywhere["accepted"] < once["accepted"]


def test_files_that_are_no_evaluators_are_refused(tmp_path: Path):
    with pytest.raises(InputError, match=r"'nowhere\.py' is none"):
        main(["--evaluators", "nowhere.py"])
    (tmp_path / "other.py").write_text("")
    with pytest.raises(InputError, match=r"only \[\] of 1 files are evaluators of Spider"):
        main(["--evaluators", str(tmp_path / "other.py")])
