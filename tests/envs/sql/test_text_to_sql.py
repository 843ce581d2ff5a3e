"""TextToSQL: what is right and wrong, what is refused, and how well near misses are told apart."""

from __future__ import annotations

import itertools
from typing import Any

import gymnasium as gym
import pytest
import sqlglot
from palaestra.benchmarks.sql.slow_forms import slow_queries
from palaestra.envs.sql.queries.query_tree import is_ordered_query
from palaestra.errors import InputError
from palaestra.rewards import RewardWrapper, make
from palaestra.rewards.verifiers.sql import compare_results, verify_sql

from .engines.engines import env_or_skip


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


@pytest.mark.parametrize("engine", ["sqlite", "duckdb", "postgres"])
def test_an_order_is_not_right_by_accident(engine):
    env = env_or_skip(engine, split="all")
    judged, seeds = 0, range(16 if engine == "sqlite" else 5)
    for seed in seeds:
        _, info = env.reset(seed=seed, options={"difficulty": 1.0})
        state, gold, known = env.get_state(), env.here().reference, env.here().data
        if not is_ordered_query(known.query):
            assert not known.witnesses.tied
            continue
        assert play(env, state, gold)["is_success"]
        head, _, keys = gold.rpartition(" ORDER BY ")
        limit = f" LIMIT {keys.partition(' LIMIT ')[2]}" if " LIMIT " in keys else ""
        keys = keys.partition(" LIMIT ")[0]
        for wrong in (head, f"{head} ORDER BY {keys.rpartition(', ')[0]}"):
            if not wrong.endswith("BY "):
                judged += 1
                assert not play(env, state, f"{wrong}{limit}")["is_success"], wrong
                reference = info["extras"]["sql_reference"]
                assert engine != "sqlite" or not verify_sql(f"{wrong}{limit}", reference).success
    assert judged > len(seeds) / 3


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


GENERATED = ["TextToSQL", "SQLRepair", "SQLExplorer"]


@pytest.mark.parametrize(
    ("name", "engine"),
    [*itertools.product(GENERATED, ["sqlite", "duckdb", "postgres"]), ("Spider", ""), ("BIRD", "")],
)
def test_rewards_of_queries_read_what_every_id_supplies(name, engine):
    top = {"reasoning-sql": 6.5, "sql-clauses": 1.0}  # without the points for tags
    for reward, most in top.items():
        made = env_or_skip(engine, name, difficulty=0.2) if engine else gym.make(f"palaestra/{name}-v0", difficulty=0.2)
        env: Any = RewardWrapper(made, make(reward))
        _, info = env.reset(seed=2)
        done, value = False, 0.0
        while not done:
            _, value, done, _, info = env.step(env.unwrapped.oracle())
        assert info["is_success"]
        assert value == most
        env.reset(seed=2)
        wrong = "<answer>SELECT 1</answer>" if name == "SQLExplorer" else "SELECT 1"
        assert 0.0 <= (runs := env.step(wrong)[1]) < most / 2
        if reward == "reasoning-sql":
            env.reset(seed=2)
            assert env.step(wrong.replace("1", "nothing"))[1] < runs


@pytest.mark.parametrize("name", ["TextToSQL", "SQLRepair", "SQLResult", "SQLExplorer"])
def test_the_hardest_tasks_are_those_at_the_end(name):
    at = gym.make(f"palaestra/{name}-v0").unwrapped.param_space.at
    assert at(0.999) != at(1.0)
    assert len({tuple(at(difficulty / 20).values()) for difficulty in range(21)}) > 10


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


def test_questions_use_the_constructs_asked_for():
    signs = {"case": "CASE WHEN", "contains": "LIKE '%", "window": ") OVER ("}
    for name, more in (("TextToSQL", {}), ("SQLRepair", {}), ("SQLExplorer", {"of_kwargs": {"constructs": ["case"]}})):
        env: Any = gym.make(f"palaestra/{name}-v0", **(more or {"constructs": list(signs)}), difficulty=0.3).unwrapped
        found = set()
        for seed in range(1 if more else 14):
            env.reset(seed=seed)
            gold = (env.inner if more else env).gold_query(env.here().task if more else env.here())
            found |= {sign for sign in signs if signs[sign] in gold}
        assert found == ({"case"} if more else set(signs))
    assert gym.make("palaestra/TextToSQL-v0", constructs="self, note").unwrapped.constructs == ("self", "note")
    with pytest.raises(InputError, match=r"'lateral'; the constructs are arithmetic, case, .*, self, .*, dirty"):
        gym.make("palaestra/TextToSQL-v0", constructs="lateral")


@pytest.mark.parametrize("name", ["TextToSQL", "SQLRepair", "SQLExplorer", "SQLDebugging"])
def test_on_large_tables_a_right_query_must_not_be_slow(name):
    is_question = name in ("TextToSQL", "SQLRepair")
    options: Any = {"rows": 4_000} if is_question else {"of_kwargs": {"rows": 4_000}}
    env: Any = gym.make(f"palaestra/{name}-v0", difficulty=0.2, disable_env_checker=True, **options).unwrapped
    for seed in range(3):
        prompt, _ = env.reset(seed=seed)
        assert "The tables may have 4,000 rows" in prompt
        gold = env.here().reference if is_question else env.here().task.reference
        _, slow = next(slow_queries(gold))
        *_, info = env.step(f"answer {slow}" if name == "SQLExplorer" else slow)
        assert not info["is_success"]
        assert "too slow on tables of up to 4,000 rows" in info["action_error"]
        env.reset(seed=seed)
        done = False
        while not done:
            *_, done, _, info = env.step(env.oracle())
        assert info["is_success"]


def test_a_number_of_rows_is_within_its_bounds():
    for rows in (999, 100_001, 2.5, "many"):
        with pytest.raises(InputError, match="rows must be a whole number from 1000 to 100000"):
            gym.make("palaestra/TextToSQL-v0", rows=rows)


def test_compact_prompts_ask_the_same_question_in_fewer_words():
    full, compact = (gym.make("palaestra/TextToSQL-v0", prompt=prompt).unwrapped for prompt in ("full", "compact"))
    for seed in range(5):
        (long, first), (short, second) = (env.reset(seed=seed) for env in (full, compact))
        outline = compact.here().data.plan.schema.outline
        assert first["task_id"] == second["task_id"]
        assert short == f"{outline}\n\n{long.splitlines()[-2]}\nAnswer with one SQLite query."
        assert compact.step(full.oracle())[4]["is_success"]
    with pytest.raises(InputError, match="brief"):
        gym.make("palaestra/TextToSQL-v0", prompt="brief")


def test_a_runaway_query_ends_at_the_time_that_was_asked_for():
    env: Any = gym.make("palaestra/TextToSQL-v0", seconds=0.2, difficulty=0.0).unwrapped
    env.reset(seed=1)
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    assert "did not finish within 0.2 s" in env.step(endless)[4]["action_error"]
