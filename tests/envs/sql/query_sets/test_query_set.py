"""Spider's and BIRD's layouts: small data sets in them are found, asked and judged."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
from palaestra.errors import InputError

TABLES = (
    "CREATE TABLE singer (id INTEGER PRIMARY KEY,\n  name TEXT, age INT); "
    "CREATE TABLE song (id INTEGER PRIMARY KEY, singer_id INT REFERENCES singer, title TEXT);"
)
ROWS = (
    "INSERT INTO singer VALUES (1, 'Ann', 30), (2, 'Bo', 30), (3, 'Cleo', 41);"
    "INSERT INTO song VALUES (1, 1, 'Sun'), (2, 1, 'Moon'), (3, 3, 'Sun');"
)
MORE_ROWS = (
    "INSERT INTO singer VALUES (1, 'Ann', 30), (2, 'Ann', 30), (3, 'Dee', NULL); INSERT INTO song VALUES (1, 2, 'Sun');"
)
QUERIES = {
    "What are the ages?": "SELECT age FROM singer",
    "Name the singers, the eldest first.": "SELECT name, age FROM singer ORDER BY age DESC, id",
    "How many songs?": "SELECT name, COUNT(*) FROM singer JOIN song ON singer.id = singer_id GROUP BY 1",
    "Who is older than 90?": "SELECT name FROM singer WHERE age > 90",
}


def write_database(path: Path, rows: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    connection.executescript(TABLES + rows)
    connection.commit()
    connection.close()


@pytest.fixture
def spider(tmp_path: Path) -> Path:
    """A folder as Spider's: two parts, tables.json, and a database with a second file as test suites have."""
    records = [{"db_id": "concert", "question": q, "query": sql, "sql": {}} for q, sql in QUERIES.items()]
    (tmp_path / "dev.json").write_text(json.dumps(records))
    (tmp_path / "train_spider.json").write_text(json.dumps(records[:1]))
    (tmp_path / "tables.json").write_text(
        json.dumps([{"db_id": "concert", "table_names_original": ["singer", "song"]}])
    )
    write_database(tmp_path / "database" / "concert" / "concert.sqlite", ROWS)
    write_database(tmp_path / "database" / "concert" / "concert_fuzz_1.sqlite", MORE_ROWS)
    return tmp_path


@pytest.fixture
def bird(tmp_path: Path) -> Path:
    """A folder as BIRD's development part."""
    records = [
        {
            "question_id": place,
            "db_id": "concert",
            "question": question,
            "SQL": sql,
            "difficulty": level,
            "evidence": note,
        }
        for place, ((question, sql), level, note) in enumerate(
            zip(QUERIES.items(), ("simple", "moderate", "challenging", "simple"), ("", "eldest refers to age", "", ""))
        )
    ]
    (tmp_path / "dev.json").write_text(json.dumps(records))
    (tmp_path / "dev_tables.json").write_text("[]")
    write_database(tmp_path / "dev_databases" / "concert" / "concert.sqlite", ROWS)
    return tmp_path


def ask(env: Any, question: str) -> str:
    for seed in range(200):
        prompt, _ = env.reset(seed=seed)
        if question in prompt:
            return prompt
    raise AssertionError(question)


def make(env_id: str, **kwargs: Any) -> Any:
    return gym.make(f"palaestra/{env_id}-v0", split="all", disable_env_checker=True, **kwargs).unwrapped


# Query, question, our verdict, and those of test-suite-sql-eval and of BIRD's evaluator by their rules.
VERDICTS = [
    ("SELECT age FROM singer ORDER BY id", "What are the ages?", True, True, True),
    ("SELECT DISTINCT age FROM singer", "What are the ages?", False, True, True),
    ("SELECT age AS years FROM singer s", "What are the ages?", True, True, True),
    ("SELECT age FROM singer WHERE age < 99", "What are the ages?", False, False, True),
    ("SELECT age, name FROM singer ORDER BY age DESC, id", "Name the singers", False, True, False),
    ("SELECT name, age FROM singer", "Name the singers", False, False, True),
    ("SELECT name, age, id FROM singer ORDER BY age DESC, id", "Name the singers", False, False, False),
    ("SELECT 1 WHERE 0", "Who is older than 90?", False, True, True),
    ("SELECT name FROM singer WHERE age >= 91", "Who is older than 90?", True, True, True),
    ("DELETE FROM singer", "Who is older than 90?", False, True, True),
]


@pytest.mark.parametrize(("query", "question", "ours", "suites", "birds"), VERDICTS)
def test_verdicts_and_where_published_evaluators_differ(spider, query, question, ours, suites, birds):
    env = make("Spider", source=str(spider), part="dev")
    ask(env, question)
    before = [path.read_bytes() for path in sorted((spider / "database" / "concert").iterdir())]
    info = env.step(f"```sql\n{query}\n```")[4]
    assert info["is_success"] is ours
    assert info["reward_valid"]
    assert [path.read_bytes() for path in sorted((spider / "database" / "concert").iterdir())] == before
    if not ours:
        assert (suites, birds) != (False, False) or "id FROM" in query


def test_a_second_file_tells_apart_what_the_first_does_not(spider):
    query = "SELECT name, COUNT(*) FROM singer JOIN song ON singer.id = singer_id GROUP BY singer.id"
    env = make("Spider", source=str(spider), part="dev")
    ask(env, "How many songs")
    assert env.step(query)[4]["is_success"]  # no singer of the name of another has songs
    query = "SELECT name, COUNT(*) FROM singer LEFT JOIN song ON singer.id = singer_id GROUP BY 1 HAVING name <> 'Bo'"
    ask(env, "How many songs")
    assert not env.step(query)[4]["is_success"]
    (spider / "database" / "concert" / "concert_fuzz_1.sqlite").unlink()
    ask(env, "How many songs")
    assert env.step(query)[4]["is_success"]


def test_the_prompt_has_the_schema_the_question_and_the_evidence(bird):
    env = make("BIRD", source=str(bird), sample_rows=1)
    prompt = ask(env, "Name the singers")
    assert prompt == (
        "CREATE TABLE singer (id INTEGER PRIMARY KEY, name TEXT, age INT);\n-- 1 | Ann | 30\n"
        "CREATE TABLE song (id INTEGER PRIMARY KEY, singer_id INT REFERENCES singer, title TEXT);\n-- 1 | 1 | Sun\n\n"
        "Name the singers, the eldest first.\nHint: eldest refers to age\nAnswer with one SQLite query."
    )
    assert env.param_space["level"].high == 3
    assert env.solution_steps(env.here())[:3] == ["FROM singer", "SELECT name, age", "ORDER BY age DESC, id"]
    assert env.step(env.oracle())[4]["is_success"]


def test_the_databases_can_be_explored(spider):
    env = make("SQLExplorer", of="palaestra/Spider-v0", of_kwargs={"source": str(spider), "part": "dev"}, level=1)
    prompt, _ = env.reset(seed=1)
    assert "CREATE TABLE" not in prompt
    assert env.step("tables")[0].startswith("```output\nsinger (3 rows)\nsong (3 rows)\n```")
    done = False
    while not done:
        *_, done, _, info = env.step(env.oracle())
    assert info["is_success"]


def test_a_right_query_that_fails_is_our_fault(spider):
    (spider / "dev.json").write_text(
        json.dumps([{"db_id": "concert", "question": "Why?", "query": "SELECT nothing FROM x"}])
    )
    env = make("Spider", source=str(spider), part="dev")
    env.reset(seed=0)
    info = env.step("SELECT 1")[4]
    assert (info["reward_valid"], info["is_success"]) == (False, False)


def test_bytes_are_compared_and_a_runaway_query_ends_in_time(spider):
    gold = "SELECT CAST(name AS BLOB), age FROM singer"
    (spider / "dev.json").write_text(json.dumps([{"db_id": "concert", "question": "Which?", "query": gold}]))
    env = make("Spider", source=str(spider), part="dev", seconds=0.2)
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    for query, told in [(gold, None), (gold.replace("name", "age"), ""), (endless, "did not finish within 0.2 s")]:
        env.reset(seed=0)
        info = env.step(query)[4]
        assert info["is_success"] is (told is None)
        assert not told or told in info["action_error"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "parts train, dev"),
        ({"part": "test"}, "parts train, dev"),
        ({"part": "dev", "databases": "/nowhere"}, "concert/concert.sqlite"),
    ],
)
def test_wrong_arguments_are_refused(spider, arguments: dict[str, Any], told: str):
    with pytest.raises(InputError, match=told):
        make("Spider", source=str(spider), **arguments)


def test_a_folder_of_another_layout_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"none of the files train_spider\.json"):
        make("Spider", source=str(tmp_path))
    with pytest.raises(InputError, match="databases="):
        make("BIRD", source="owner/name", part="dev")
