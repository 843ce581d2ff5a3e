"""What holds for every engine: the same results and tasks, limits, and hostile statements that change nothing."""

from __future__ import annotations

import time

import gymnasium as gym
import pytest
from palaestra.envs import testing as suite
from palaestra.envs.sql.engines import ENGINES, QueryLimits, grade_query, make_engine
from palaestra.errors import InputError
from palaestra.rewards.verifiers.sql import Database, QueryError

from ....patience import least_processor_seconds  # isort: skip
from .engines import SHOP, engine_or_skip, env_or_skip, every_engine
from .hostile import COUNT, HOSTILE


def test_these_are_all_engines():
    assert list(ENGINES) == ["duckdb", "postgres", "sqlite"]
    with pytest.raises(InputError, match="unknown engine of SQL 'mysql'"):
        make_engine("mysql")


@every_engine
@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT AVG(price), SUM(price), COUNT(*) FROM sale", ((2.45, 9.8, 4),)),
        ("SELECT SUM(sale_id), MAX(name), MIN(opened_on) FROM sale, store", ((30, "West End", "2021-07-09"),)),
        ("SELECT 0.1 + 0.2, 1 = 1, 1 = 2, NULL, '1'", ((0.3, 1, 0, None, "1"),)),
        ("SELECT reason, COUNT(*) FROM sale GROUP BY reason ORDER BY 2 DESC, 1", None),
        ("SELECT name FROM store LEFT JOIN sale USING (store_id) WHERE sale_id IS NULL", (("Harbour",),)),
        ("WITH x AS (SELECT price FROM sale) SELECT COUNT(*) FROM x WHERE price > 1;", ((2,),)),
        ("SELECT opened_on FROM store ORDER BY store_id -- ; comment", (("2022-03-01",), ("2021-07-09",), (None,))),
        ("SELECT CAST(1 AS NUMERIC) / 4.0 * 4, CAST(7 AS BIGINT)", ((1, 7),)),
    ],
)
def test_results_have_one_form_on_all_engines(engine: str, query: str, rows):
    found = engine_or_skip(engine).load(SHOP).query(query)
    if rows is None:
        # NULL comes first or last, as the engine has it.
        assert found.rows[0] == ("late", 2)
        assert sorted(map(str, found.rows[1:])) == ["('worn', 1)", "(None, 1)"]
    else:
        assert found.rows == rows
        assert all(isinstance(value, (int, float, str, type(None))) for row in found.rows for value in row)
    assert len(found.columns) == len(found.rows[0])


@every_engine
def test_verdicts_follow_one_rule_on_all_engines(engine: str):
    engine_or_skip(engine)
    expected = [(SHOP, ((1, 0.1), (1, 2.5)))]
    gold = "SELECT store_id, price FROM sale WHERE store_id = 1 ORDER BY price"
    for query, ordered, right in [
        (gold, True, True),
        (f"{gold} DESC", False, True),
        (f"{gold} DESC", True, False),
        (gold.replace("store_id, price", "price, store_id"), True, False),
        (gold.replace("price FROM", "price AS x FROM"), True, True),
        (gold.replace("store_id, price", "CAST(store_id AS VARCHAR(9)), price"), True, False),
        (gold.replace("store_id, price", "store_id * 1.0, 10 * price / 10"), True, True),
        (f"SELECT * FROM ({gold}) AS x UNION ALL SELECT * FROM ({gold}) AS y", False, False),
    ]:
        verdict = grade_query(query, expected, ordered=ordered, engine=engine)
        assert (verdict.success, verdict.valid, verdict.malformed) == (right, True, False), query


@every_engine
def test_a_query_that_fails_says_why_in_a_sentence(engine: str):
    engine_or_skip(engine)
    verdict = grade_query("SELECT no_such FROM sale", [(SHOP, ((1,),))], ordered=False, engine=engine)
    assert verdict.malformed
    assert "no_such" in verdict.feedback
    assert "\n" not in verdict.feedback


@every_engine
def test_limits_on_rows_and_time_end_the_query_alone(engine: str):
    database = engine_or_skip(engine).load(SHOP)
    with pytest.raises(QueryError, match="more than 3 rows"):
        database.query("SELECT * FROM sale", QueryLimits(rows=3))
    assert len(database.query("SELECT * FROM sale", QueryLimits(rows=4)).rows) == 4
    billion = "SELECT COUNT(*) FROM " + ", ".join(f"sale AS s{number}" for number in range(15))
    for endless in (f"{COUNT} SELECT max(i) FROM n", billion):

        def run(endless: str = endless) -> None:
            with pytest.raises(TimeoutError):
                database.query(endless, QueryLimits(seconds=0.2))

        assert least_processor_seconds(run, 0.5) < 0.5
        assert database.query("SELECT COUNT(*) FROM sale").rows == ((4,),)


def test_a_query_that_sleeps_ends_at_its_deadline():
    database = engine_or_skip("duckdb").load(SHOP)
    database.query("SELECT 1")
    start = time.monotonic()
    with pytest.raises(TimeoutError):
        database.query("SELECT sleep_ms(90000)", QueryLimits(seconds=0.3))
    assert 0.3 <= time.monotonic() - start < 60
    assert database.query("SELECT COUNT(*) FROM sale").rows == ((4,),)


@every_engine
def test_hostile_statements_change_nothing_and_are_refused_with_an_error(engine: str, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert len(HOSTILE) >= 60
    env = env_or_skip(engine, seconds=0.1, split="all")
    env.reset(seed=1, options={"difficulty": 0.0})
    state, known = env.get_state(), env.here().data
    database, schema = known.witnesses.expected[0][0], known.plan.schema.ddl_for(env.dialect)

    def contents():
        loaded = make_engine(engine).load(database, schema)
        tables = [loaded.query(f"SELECT * FROM {table}").rows for table in known.plan.schema.names]
        if engine == "postgres":
            tables.append(loaded.query("SELECT rolname, rolsuper FROM pg_roles").rows)
            tables.append(loaded.query("SELECT relname, relkind, relacl::text FROM pg_class").rows)
            tables.append(loaded.query("SELECT name, setting FROM pg_settings WHERE name <> 'statement_timeout'").rows)
        return tables

    before = contents()
    for statement in HOSTILE:
        infos = []

        def step(
            answer: str = f"```sql\n{statement.replace('{t}', known.plan.base)}\n```", infos: list = infos
        ) -> None:
            env.set_state(state)
            infos.append(env.step(answer)[4])

        # Its limit is a tenth of a second, whatever it does within one operation of the engine; PostgreSQL sends
        # ten thousand rows before the limit on rows ends it, which a slow processor takes longer to read.
        assert least_processor_seconds(step, 0.5) < 0.5, statement[:80]
        info = infos[-1]
        assert info["action_error"], statement[:80]
        assert not info["is_success"]
        assert info["reward_valid"], (statement[:80], info["feedback"])
        assert len(info["action_error"]) < 300
    assert list(tmp_path.iterdir()) == []
    assert contents() == before
    patient = env_or_skip(engine, split="all")  # PostgreSQL's time is that of the clock
    patient.reset(seed=1, options={"difficulty": 0.0})
    patient.set_state(state)
    assert patient.step(patient.oracle())[4]["is_success"]


@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
def test_the_same_tasks_stand_on_other_engines(engine: str):
    env, base = env_or_skip(engine, split="all"), env_or_skip("sqlite", split="all")
    for seed in range(15):
        options = {"difficulty": seed % 5 / 4}
        prompt, info = env.reset(seed=seed, options=options)
        plain, other = base.reset(seed=seed, options=options)
        assert info["task_id"] == other["task_id"]
        assert f"one {make_engine(engine).title} query" in prompt
        assert prompt.split("\n\n")[1].split("\n")[0] == plain.split("\n\n")[1].split("\n")[0]
        assert "strftime" not in "".join(info["extras"]["solution_steps"])
        expected = [rows for _, rows in env.here().data.witnesses.expected]
        assert expected == [rows for _, rows in base.here().data.witnesses.expected]
        assert env.step(env.oracle())[4]["is_success"]


SUITE = [
    suite.test_gymnasium_finds_no_fault,
    suite.test_environments_can_be_pickled_at_any_moment,
    suite.test_spec_survives_json_with_its_arguments,
    suite.test_resets_and_steps_supply_the_declared_extras,
    suite.test_info_keeps_its_contract,
]
QUESTION = [
    suite.test_same_seed_gives_same_episode,
    suite.test_a_question_supplies_its_reference_and_its_worked_solution,
]
FAMILIES = {
    "TextToSQL": [
        suite.test_open_axes_reach_their_limits,
        suite.test_synchronous_and_asynchronous_vectors_agree,
    ],
    "SQLRepair": QUESTION,
    "SQLChange": QUESTION,
    "SQLSchema": QUESTION,
    "SQLResult": [*QUESTION, suite.test_oracle_succeeds_at_every_difficulty_of_the_test_split],
    "SQLExplorer": [
        suite.test_oracle_succeeds_at_every_difficulty_of_the_test_split,
        suite.test_snapshot_and_replay_agree,
        suite.test_two_hundred_fuzzed_actions_do_no_harm,
    ],
}
"""The families that run queries on an engine; the parts of the suite that cost much, each where the engine matters."""


@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_suite_of_all_environments_holds_on_other_engines(family: str, engine: str):
    spec = env_or_skip(engine, family).spec
    env_id = f"test/{family}-{engine}-v0"
    gym.register(env_id, spec.entry_point, kwargs=spec.kwargs)
    try:
        for check in SUITE + FAMILIES[family]:
            check(env_id)
    finally:
        del gym.registry[env_id]


def test_values_that_do_not_fit_a_column_are_text_on_strict_engines():
    mixed = Database(
        schema="CREATE TABLE x (A INTEGER, b, c BLOB); INSERT INTO x VALUES (1, 2, X'0a'), ('z', 2.5, NULL);"
    )
    for engine in ("duckdb", "postgres"):
        found = engine_or_skip(engine).load(mixed).query("SELECT a, B, c FROM X")
        assert found.rows == (("1", 2, "X'0a'"), ("z", 2.5, None))
