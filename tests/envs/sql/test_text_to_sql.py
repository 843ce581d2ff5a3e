"""TextToSQL: what is right and wrong, what is refused, and how well near misses are told apart."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import pytest
import sqlglot
from palaestra.envs.sql.queries.query_tree import is_ordered_query
from palaestra.errors import InputError
from palaestra.rewards import RewardWrapper, make
from palaestra.rewards.verifiers.sql import compare_results, verify_sql


@pytest.fixture(scope="module")
def env():
    return gym.make("palaestra/TextToSQL-v0", disable_env_checker=True, split="all", seconds=0.5).unwrapped


def play(env, state, query):
    env.set_state(state)
    return env.step(f"```sql\n{query}\n```")[4]


def test_most_near_misses_of_drawn_tasks_are_told_apart(env):
    number = survivors = 0
    for seed in range(25):
        env.reset(seed=seed, options={"difficulty": 0.4})
        witnesses = env.here().data.witnesses
        number += len(witnesses.near_misses)
        survivors += len(witnesses.survivors)
    assert number > 120
    assert survivors / number < 0.1  # equivalent ones among them


def test_rewritten_queries_are_right(env):
    """sqlglot writes the query in another way: with aliases for functions, or through a common table expression."""
    for seed in range(20):
        env.reset(seed=seed, options={"difficulty": 0.4})
        state, gold = env.get_state(), env.here().reference
        assert play(env, state, sqlglot.transpile(gold, read="sqlite", write="sqlite", pretty=True)[0])["is_success"]
        assert play(env, state, f"WITH result AS (SELECT 1) {gold.replace('COUNT(*)', 'count(1)')};")["is_success"]
        if not is_ordered_query(env.here().data.query):
            assert play(env, state, f"SELECT * FROM ({gold})")["is_success"]


def test_the_reference_for_rewards_gives_the_verdicts_of_the_environment(env):
    _, info = env.reset(seed=3, options={"difficulty": 0.5})
    reference, task = info["extras"]["sql_reference"], env.here()
    assert len(reference["schema"]) == len(task.data.witnesses.expected) >= 2
    assert verify_sql(task.reference, reference).success
    for kind, wrong in [("first", "SELECT 1"), ("cut", f"SELECT * FROM ({task.reference}) LIMIT 1")]:
        judged = compare_results(wrong, task.data.witnesses.expected, ordered=True)
        assert verify_sql(wrong, reference).success is judged.success is False, kind


def test_the_first_database_is_the_one_whose_rows_are_shown(env):
    prompt, info = env.reset(seed=5)
    shown = [line[3:] for line in prompt.split("\n") if line.startswith("-- ")]
    first = info["extras"]["sql_reference"]["schema"][0].replace("\n", "")
    assert shown
    assert all(f"VALUES({row.replace(', ', ',')})" in first.replace(".0,", ",").replace(".0)", ")") for row in shown)


FAILING = "SELECT no_such_column FROM no_such_table"
HOSTILE = [
    *("DELETE FROM {t}", "DROP TABLE {t}", "UPDATE {t} SET rowid = 9", "INSERT INTO {t} DEFAULT VALUES"),
    *(
        "CREATE TABLE x (a)",
        "CREATE TEMP TABLE x AS SELECT 1",
        "ALTER TABLE {t} RENAME TO x",
        "CREATE VIEW v AS SELECT 1",
    ),
    *(
        "ATTACH ':memory:' AS x",
        "ATTACH 'canary.db' AS x",
        "DETACH main",
        "VACUUM",
        "VACUUM INTO 'canary.db'",
        "REINDEX",
    ),
    *("PRAGMA writable_schema = ON", "PRAGMA query_only = OFF", "SELECT * FROM pragma_database_list", "ANALYZE"),
    *("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT x", "END", "SELECT load_extension('x')"),
    *("SELECT 1; DELETE FROM {t}", "SELECT 1; SELECT 2", "SELECT 1 -- \n; DROP TABLE {t}", "SELECT 1 /* */; VACUUM"),
    *("WITH x AS (SELECT 1) DELETE FROM {t}", "WITH x AS (SELECT 1) INSERT INTO {t} SELECT * FROM x"),
    *("COPY {t} TO 'canary.db'", "SELECT pg_sleep(9)", "SELECT pg_read_file('/etc/passwd')", "SELECT readfile('x')"),
    *(
        "SELECT writefile('canary.db', 'x')",
        "SELECT * FROM dblink('x')",
        "SELECT edit('x')",
        "SELECT fts3_tokenizer('x')",
    ),
    *("SELECT randomblob(1000000000)", "SELECT zeroblob(1000000000)"),
    *("SELECT replace(hex(zeroblob(40000)), '0', hex(zeroblob(40000)))", "SELECT json_group_array(1) FROM {t}"),
    *(
        "SELECT " + "(" * 3000 + "1" + ")" * 3000,
        "SELECT " + "1," * 20000 + "1",
        "-- nothing",
        ";",
        "nonsense",
        "SELECT 1\0",
    ),
    "SELECT COUNT(*) FROM " + ", ".join(f"{{t}} AS a{number}" for number in range(9)),
    "SELECT * FROM " + ", ".join(f"{{t}} AS a{number}" for number in range(9)),
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT group_concat(i) FROM n",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT DISTINCT printf('%9000d', i) FROM n",
    *("VALUES (1); DROP TABLE {t}", "REPLACE INTO {t} VALUES (1)", "DROP TABLE IF EXISTS {t}", "SELECT * FROM x.y"),
    *("CREATE TRIGGER a AFTER INSERT ON {t} BEGIN SELECT 1; END", "CREATE INDEX i ON {t} (rowid)", FAILING),
    "CREATE VIRTUAL TABLE x USING fts5(a)",
]


def test_hostile_statements_change_nothing_and_are_refused_with_an_error(env, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert len(HOSTILE) >= 60
    env.reset(seed=1, options={"difficulty": 0.0})
    state, table = env.get_state(), env.here().data.plan.base
    before = [database.image for database, _ in env.here().data.witnesses.expected]
    for statement in HOSTILE:
        info = play(env, state, statement.replace("{t}", table))
        assert info["action_error"], statement[:80]
        assert not info["is_success"]
        assert info["reward_valid"]
        assert len(info["action_error"]) < 300
    assert list(tmp_path.iterdir()) == []
    assert [database.image for database, _ in env.here().data.witnesses.expected] == before
    assert play(env, state, env.here().reference)["is_success"]


@pytest.mark.parametrize("name", ["TextToSQL", "SQLRepair", "SQLExplorer", "Spider", "BIRD"])
def test_rewards_of_queries_read_what_every_id_supplies(name):
    top = {"reasoning-sql": 6.5, "sql-clauses": 1.0}  # without the points for tags
    for reward, most in top.items():
        env: Any = RewardWrapper(gym.make(f"palaestra/{name}-v0", difficulty=0.2), make(reward))
        _, info = env.reset(seed=2)
        done, value = False, 0.0
        while not done:
            _, value, done, _, info = env.step(env.unwrapped.oracle())
        assert info["is_success"]
        assert value == most
        env.reset(seed=2)
        wrong = "<answer>SELECT 1</answer>" if name == "SQLExplorer" else "SELECT 1"
        assert env.step(wrong)[1] < most / 2


def test_databases_are_of_the_domains_asked_for():
    env: Any = gym.make("palaestra/TextToSQL-v0", domains=["shop", "music"]).unwrapped
    found = set()
    for seed in range(12):
        env.reset(seed=seed)
        found.add(env.here().data.plan.schema.domain)
    assert found == {"shop", "music"}
    with pytest.raises(InputError, match="garden"):
        gym.make("palaestra/TextToSQL-v0", domains=["garden"])
    assert gym.make("palaestra/SQLRepair-v0", domains="shop").reset(seed=0)
