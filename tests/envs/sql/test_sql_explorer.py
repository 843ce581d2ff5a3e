"""SQLExplorer: commands, budget, milestones, snapshots, and that nothing that is run changes the database."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium as gym
import pytest
from palaestra.errors import InputError

from .engines.hostile import HOSTILE


def made(seed: int = 4, **kwargs: Any) -> tuple[Any, str]:
    kwargs = {"difficulty": 0.4, "disable_env_checker": True, **kwargs}
    env: Any = gym.make("palaestra/SQLExplorer-v0", **kwargs).unwrapped
    return env, env.reset(seed=seed)[0]


def test_the_schema_is_not_shown_before_it_is_asked_for():
    env, prompt = made()
    assert "CREATE TABLE" not in prompt
    assert "\n-- " not in prompt
    schema = env.here().task.data.plan.schema
    listed = env.step("tables")[0]
    assert all(f"{name} (" in listed for name in schema.names)
    table = schema.relations[0]
    described = env.step(f"describe {table.name.upper()};")[0]
    assert schema.ddl.split("\n")[0].rstrip(";") in described
    assert env.step(f"sample {table.name} 2")[0].startswith("```output\n2 rows:\n1 | ")


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
    assert observation.startswith("```output\n1 row:\n42\n```")
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
        assert f"up to {left} times" in observation or left < 2
    assert env.step("tables")[4]["action_error"] == "No call is left; give the answer without a command."
    *_, truncated, info = env.step("tables")
    assert truncated
    assert not info["is_success"]


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


def test_a_snapshot_in_mid_episode_goes_on_elsewhere():
    env, _ = made()
    env.step("tables")
    snapshot = pickle.loads(pickle.dumps(env.get_state()))
    other, _ = made(seed=9)
    other.set_state(snapshot)
    gold = env.here().task.reference
    for action in (f"sample {env.here().needed[0]}", f"query {gold}", f"answer {gold}"):
        mine, theirs = env.step(action), other.step(action)
        assert mine[:4] == theirs[:4]
        assert dict(mine[4]["extras"]) == dict(theirs[4]["extras"])
    assert theirs[4]["is_success"]


def test_hostile_statements_change_nothing_and_the_next_query_is_right(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    env, _ = made(difficulty=0.0, seconds=0.2)
    state, table = env.get_state(), env.here().task.data.plan.base
    before = env.inner.database_of(env.here().task).image
    rows = env.step(f"query SELECT COUNT(*) FROM {table}")[0]
    for statement in HOSTILE:
        env.set_state(state)
        observation, *_, info = env.step(f"query {statement.replace('{t}', table)}")
        assert info["action_error"], statement[:80]
        assert len(observation) < 2_000
        assert env.step(f"query SELECT COUNT(*) FROM {table}")[0].splitlines()[:3] == rows.splitlines()[:3]
    assert list(tmp_path.iterdir()) == []
    assert env.inner.database_of(env.here().task).image == before


def test_observations_are_bounded():
    env, _ = made()
    endless = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5000) SELECT hex(zeroblob(500)) FROM n"
    )
    observation = env.step(endless)[0]
    assert len(observation) < 1_200
    assert "5000 rows, the first 12:" in observation


def test_other_questions_about_databases_can_be_explored():
    env, prompt = made(of="palaestra/SQLRepair-v0", fault="error")
    assert "This query is almost right" in prompt
    assert env.step(f"answer {env.here().task.reference}")[4]["is_success"]
    with pytest.raises(InputError, match="about a database"):
        made(of="palaestra/Arithmetic-v0")
