"""SQLExplorer: commands, budget, milestones, snapshots, and that nothing that is run changes the database."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium as gym
import pytest
from palaestra.envs.sql.engines import EngineFailure
from palaestra.errors import InputError

from .engines.engines import engine_or_skip, env_or_skip, every_engine
from .engines.hostile import HOSTILE


def made(seed: int = 4, engine: str = "sqlite", **kwargs: Any) -> tuple[Any, str]:
    env = env_or_skip(engine, "SQLExplorer", **{"difficulty": 0.4, **kwargs})
    return env, env.reset(seed=seed)[0]


@every_engine
def test_the_schema_is_not_shown_before_it_is_asked_for(engine: str):
    env, prompt = made(engine=engine)
    assert "CREATE TABLE" not in prompt
    assert "\n-- " not in prompt
    schema = env.here().task.data.plan.schema
    listed = env.step("tables")[0]
    assert all(f"{name} (" in listed for name in schema.names)
    table = schema.relations[0]
    described = env.step(f"describe {table.name.upper()};")[0]
    assert schema.ddl_for(env.inner.dialect).split("\n")[0].rstrip(";") in described
    head, rule, *rows = env.step(f"sample {table.name} 2")[0].splitlines()[2:6]
    assert [name.strip() for name in head.split("|")] == [field.name for field in table.fields]
    assert set(rule) == {"-", "+"}
    assert [row.split("|")[0].strip() for row in rows] == ["1", "2"]


@pytest.mark.parametrize(
    "action",
    [
        "query SELECT 6 * 7",
        "SELECT 6 * 7;",
        "Let me try it.\n```sql\nSELECT 6 * 7\n```",
        "```\nquery SELECT 6 * 7\n```",
        "<sql>SELECT 6 * 7</sql>",
        "<think>tables</think>WITH x AS (SELECT 42) SELECT * FROM x",
        '<tool_call>{"name": "query", "arguments": {"query": "SELECT 6 * 7"}}</tool_call>',
    ],
)
def test_queries_are_read_however_they_are_written(action: str):
    env, _ = made()
    observation, reward, terminated, _, info = env.step(action)
    assert [line.strip() for line in observation.splitlines()[:2]] == ["```output", "1 row:"]
    assert [line.strip() for line in observation.splitlines()[4:6]] == ["42", "```"]
    assert (reward, terminated, info["action_error"]) == (0.0, False, None)


FORMS = [
    *("answer {}", "Answer: {};", "```\nanswer {}\n```", "<answer>{}</answer>"),
    *("<answer>\n```sql\n{}\n```\n</answer>", "<answer>answer {}</answer>"),
]


@pytest.mark.parametrize("form", FORMS)
def test_answers_are_read_however_they_are_written(form: str):
    env, _ = made()
    _, reward, terminated, _, info = env.step(form.replace("{}", env.here().task.reference))
    assert (reward, terminated, info["is_success"], info["progress"]) == (1.0, True, True, 1.0)


def test_each_call_takes_one_of_the_budget_and_then_only_answers_are_left():
    env, _ = made(spare=0)
    calls = env.here().calls
    for left in range(calls - 1, -1, -1):
        observation = env.step("tables" if left % 2 else "describe nothing")[0]
        told = {0: "No call is left; answer now.", 1: "1 call is left before the answer."}
        assert observation.endswith(told.get(left, f"{left} calls are left before the answer."))
    assert env.step("tables")[4]["action_error"] == "No call is left; write answer SELECT ..."
    *_, truncated, info = env.step("tables")
    assert truncated
    assert not info["is_success"]


def test_what_is_no_command_is_one_of_the_calls_so_that_a_turn_is_left_for_the_answer():
    env, _ = made(spare=0)
    calls = env.here().calls
    assert env.step("help")[0].endswith(f"or answer SELECT ...\n{calls - 1} calls are left before the answer.")
    while env.here().calls:
        env.step("tables" if env.here().calls % 2 else "help")
    assert env.step(f"answer {env.here().task.reference}")[4]["is_success"]


def test_progress_counts_needed_tables_and_a_query_that_ran():
    env, _ = made()
    needed = env.here().needed
    assert len(needed) >= 2
    progress = [env.step("tables")[4]["progress"]]
    for action in (f"describe {needed[0]}", f"sample {needed[0]}", "query SELECT nothing", "query SELECT 1"):
        info = env.step(action)[4]
        progress.append(info["progress"])
    assert progress == [part / (len(needed) + 2) for part in (0, 1, 1, 1, 2)]
    assert info["extras"]["milestones"] == [2, len(needed) + 1]
    assert info["extras"]["tool_errors"] == [False, False, False, True, False]
    *_, info = env.step("answer SELECT 1")
    assert (info["is_success"], info["progress"]) == (False, progress[-1])


@every_engine
def test_a_snapshot_in_mid_episode_goes_on_elsewhere(engine: str):
    env, _ = made(engine=engine)
    env.step("tables")
    snapshot = pickle.loads(pickle.dumps(env.get_state()))
    other, _ = made(seed=9, engine=engine)
    other.set_state(snapshot)
    gold = env.here().task.reference
    for action in (f"sample {env.here().needed[0]}", f"query {gold}", f"answer {gold}"):
        mine, theirs = env.step(action), other.step(action)
        assert mine[:4] == theirs[:4]
        assert dict(mine[4]["extras"]) == dict(theirs[4]["extras"])
    assert theirs[4]["is_success"]


@every_engine
def test_hostile_statements_change_nothing_and_the_next_query_is_right(engine: str, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    env, _ = made(engine=engine, difficulty=0.0, seconds=0.05)
    patient, _ = made(engine=engine, difficulty=0.0)  # PostgreSQL's time is that of the clock
    state, table = env.get_state(), env.here().task.data.plan.base
    before = env.inner.database_of(env.here().task).database.image
    rows = patient.step(f"SELECT * FROM {table}")[0]
    # All of them are tried on each engine in `engines`.
    for statement in HOSTILE[:: 1 if engine == "sqlite" else 6]:
        env.set_state(state)
        observation, *_, info = env.step(f"query {statement.replace('{t}', table)}")
        assert info["action_error"], statement[:80]
        assert info["reward_valid"], statement[:80]
        assert len(observation) < 2_000
        patient.set_state(env.get_state())
        assert patient.step(f"SELECT * FROM {table}")[0].splitlines()[:-1] == rows.splitlines()[:-1]
    assert list(tmp_path.iterdir()) == []
    assert env.inner.database_of(env.here().task).database.image == before


def test_observations_are_bounded():
    env, _ = made()
    endless = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5000) SELECT hex(zeroblob(500)) FROM n"
    )
    observation = env.step(endless)[0]
    assert len(observation) < 1_200
    assert "5000 rows, the first 1:" in observation or "5000 rows, the first 12:" in observation


def test_a_call_on_an_engine_that_fails_is_no_call(monkeypatch):
    def lose(task):
        raise EngineFailure("the server is gone")

    env, _ = made()
    monkeypatch.setattr(env.inner, "database_of", lose)
    calls = env.here().calls
    assert not env.step("query SELECT 1")[4]["reward_valid"]
    assert env.here().calls == calls


@every_engine
def test_among_forty_tables_the_solver_searches_and_follows_keys(engine: str):
    env, prompt = made(engine=engine, tables=40)
    for seed in range(8 if engine == "sqlite" else 2):
        prompt, _ = env.reset(seed=seed, options={"difficulty": seed / 8})
        assert len(prompt) < 2_000
        assert env.step("tables")[0].startswith("```output\nPage 1 of 3, 4")
        env.reset(seed=seed, options={"difficulty": seed / 8})
        needed, done, texts = env.here().needed, False, []
        while not done:
            action = env.oracle()
            texts.append(action)
            observation, _, done, _, info = env.step(action)
            assert len(observation) < 1_200
        assert texts[0] == f"```\nsearch {needed[0]}\n```"
        assert info["is_success"]
        assert info["extras"]["milestones"] == [len(needed) + 1] * 2


@every_engine
def test_other_questions_about_databases_can_be_explored(engine: str):
    env, prompt = made(engine=engine, of="palaestra/SQLRepair-v0", fault="error")
    assert "This query is almost right" in prompt
    assert env.step(f"answer {env.here().task.reference}")[4]["is_success"]


def test_questions_without_a_database_are_refused():
    with pytest.raises(InputError, match="about a database"):
        gym.make("palaestra/SQLExplorer-v0", of="palaestra/Arithmetic-v0")


@every_engine
def test_views_are_listed_described_and_sampled(engine: str):
    engine_or_skip(engine)
    of_kwargs = {"engine": engine, "constructs": "view"}
    env: Any = gym.make("palaestra/SQLExplorer-v0", of_kwargs=of_kwargs, difficulty=0.3).unwrapped
    env.reset(seed=1)
    (view,) = env.here().task.data.plan.schema.views
    assert f"{view.name} (" in env.step("tables")[0]
    assert f"CREATE VIEW {view.name} AS {view.query}" in env.step(f"describe {view.name}")[0]
    assert env.step(f"sample {view.name} 1")[4]["action_error"] is None
