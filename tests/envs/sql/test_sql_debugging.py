"""SQLDebugging: turns, what comes back from them, progress, and that only the database shown is shown."""

from __future__ import annotations

import pickle
import sqlite3
from typing import Any

import gymnasium as gym
import pytest
from palaestra.envs.sql.engines import EngineFailure
from palaestra.envs.sql.outcomes import try_query
from palaestra.envs.sql.queries.near_misses import near_misses
from palaestra.errors import InputError

from .engines.engines import engine_or_skip, every_engine


def made(seed: int = 4, engine: str = "sqlite", **kwargs: Any) -> tuple[Any, str]:
    engine_or_skip(engine)
    options = {"difficulty": 0.3, "of_kwargs": {"engine": engine}, "disable_env_checker": True, **kwargs}
    env: Any = gym.make("palaestra/SQLDebugging-v0", **options).unwrapped
    return env, env.reset(seed=seed)[0]


@every_engine
def test_errors_and_rows_come_back_until_the_query_is_right(engine: str):
    env, prompt = made(engine=engine, fault="error", turns=4)
    known = env.here().task.data
    assert known.outcome in prompt
    assert prompt.endswith("so that you can mend it.")
    observation, reward, terminated, truncated, info = env.step(f"```sql\n{known.wrong}\n```")
    assert observation == f"{known.outcome}\nYou have 3 turns left."
    assert (reward, terminated, truncated, info["action_error"]) == (0.0, False, False, known.outcome)
    observation, _, _, _, info = env.step(f"SELECT COUNT(*) AS number FROM {known.plan.base}")
    assert observation.startswith("```output\n1 row:\nnumber\n------\n")
    assert observation.endswith("\n```\nYou have 2 turns left.")
    assert (info["action_error"], info["is_success"]) == (None, False)
    observation, reward, terminated, _, info = env.step(env.oracle())
    assert (observation, reward, terminated, info["is_success"], info["progress"]) == ("", 1.0, True, True, 1.0)


def test_a_reply_of_any_kind_is_a_turn():
    env, _ = made(turns=3)
    for left, action in (("2 turns", "I do not know."), ("one turn", 7)):
        observation, _, _, truncated, info = env.step(action)
        assert observation.endswith(f"You have {left} left.")
        assert info["action_error"]
        assert not truncated
    assert env.step("SELECT 1")[3]


def test_progress_counts_a_run_the_columns_and_the_databases():
    env, _ = made(of="palaestra/TextToSQL-v0", graded=True, turns=6)
    known, gold = env.here().task.data, env.here().task.reference
    databases, width = len(known.witnesses.expected), len(known.witnesses.expected[0][1][0])
    total, paid = databases + 2, []
    assert env.here().milestones == total
    # A near miss that some of the databases do not tell from the right query.
    for _, other in near_misses(known.query, known.plan.schema):
        grading = env.inner.grading_of(env.here().task)
        rows = [try_query(other.sql(), one).rows for one, _ in grading["expected"]]
        right = sum(mine == theirs for mine, (_, theirs) in zip(rows, grading["expected"]))
        if 0 < right < databases and not grading["ordered"]:
            break
    for query, reached in (
        ("SELECT nothing", 0),
        (f"SELECT {', '.join('1' for _ in range(width + 1))}", 1),
        (f"SELECT {', '.join('1' for _ in range(width))}", 2),
        (other.sql(), 2 + right),
        ("SELECT 1", 2 + right),
    ):
        _, reward, _, _, info = env.step(query)
        paid.append(reward)
        assert info["extras"]["milestones"] == [reached, total]
        assert info["progress"] == pytest.approx(reached / total, abs=1e-8)
    paid.append(env.step(gold)[1])
    assert sum(paid) == 1.0
    assert min(paid) >= 0.0


def test_the_query_of_the_question_earns_no_progress():
    env, _ = made(fault="result", graded=True)
    given = env.here().given
    assert given >= 2
    _, reward, _, _, info = env.step(env.here().task.data.wrong)
    assert (reward, info["progress"]) == (0.0, 0.0)
    assert info["extras"]["milestones"] == [given, env.here().milestones]
    assert env.step(env.oracle())[1] == 1.0


@every_engine
def test_neither_the_right_query_nor_the_other_databases_are_shown(engine: str):
    """Whatever the other databases and the right query are: the text depends on the database shown alone."""
    number = 12 if engine == "sqlite" else 3
    env, _ = made(engine=engine, of="palaestra/TextToSQL-v0", turns=12)
    for seed in range(number):
        env.reset(seed=seed, options={"difficulty": 0.2 + seed / number / 2})
        task = env.here().task
        known, shown = task.data, env.inner.database_of(task)
        misses = [env.inner.gold_query(task), "SELECT wrong", f"SELECT * FROM {known.plan.base} WHERE 1 / 0"]
        misses += [f"SELECT {name} FROM {known.plan.base}" for name in known.plan.schema.names]
        for query in [*misses[1:], f"SELECT * FROM ({misses[0]}) AS one CROSS JOIN (SELECT 1) AS other"][:8]:
            observation, *_, info = env.step(query)
            outcome = try_query(query, shown)
            texts = f"{observation}\n{info['feedback']}\n{info['action_error']}"
            assert misses[0] not in texts.replace(query, "")
            assert len(observation) < 1_200
            if outcome.rows is None:
                assert observation.startswith(outcome.error)
                assert len(outcome.error) < 160
            else:
                assert observation.startswith(f"```output\n{len(outcome.rows) or 'no'} row")
            hidden = _values_of_others(known.witnesses.expected)
            assert not [value for value in hidden if value in texts]


def _values_of_others(expected: Any) -> set[str]:
    """The names that occur in the databases after the first one and not in the first."""
    found: list[set[str]] = []
    for database, _ in expected:
        connection = sqlite3.connect(":memory:")
        connection.deserialize(database.image)
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        cells = {cell for table in tables for row in connection.execute(f"SELECT * FROM {table}") for cell in row}
        found.append({cell for cell in cells if isinstance(cell, str)})
        connection.close()
    return set().union(*found[1:]) - found[0]


def test_an_error_on_another_database_is_not_told():
    """A query that fails only where a value occurs that the database shown does not have."""
    env, _ = made(of="palaestra/TextToSQL-v0", turns=12)
    told = 0
    for seed in range(8):
        env.reset(seed=seed)
        known = env.here().task.data
        for value in sorted(_values_of_others(known.witnesses.expected))[:3]:
            for table in known.plan.schema.relations:
                for field in table.fields:
                    if field.kind == "name" and env.here().turns:
                        fails = f"SELECT abs(CASE WHEN {field.name} = '{value}' THEN -9223372036854775808 END)"
                        observation, *_, info = env.step(f"{fails} FROM {table.name}")
                        assert info["action_error"] is None
                        assert "overflow" not in observation
                        told += any(
                            try_query(f"{fails} FROM {table.name}", one).error for one, _ in known.witnesses.expected
                        )
    assert told


@every_engine
def test_a_snapshot_in_mid_episode_goes_on_elsewhere(engine: str):
    env, _ = made(engine=engine, graded=True, turns=4)
    env.step("SELECT 1")
    other, _ = made(seed=9, engine=engine, graded=True, turns=4)
    other.set_state(pickle.loads(pickle.dumps(env.get_state())))
    for action in ("SELECT nothing", env.oracle()):
        assert env.step(action)[:4] == other.step(action)[:4]


def test_a_turn_on_an_engine_that_fails_is_not_valid(monkeypatch):
    def lose(task):
        raise EngineFailure("the server is gone")

    env, _ = made(turns=2)
    monkeypatch.setattr(env.inner, "database_of", lose)
    _, reward, _, truncated, info = env.step(env.oracle())
    assert (reward, info["reward_valid"], truncated) == (0.0, False, False)


@pytest.mark.parametrize("of", ["Spider", "BIRD"])
def test_published_questions_can_be_tried_several_times(of: str):
    env, _ = made(of=f"palaestra/{of}-v0", of_kwargs={}, turns=3)
    assert "syntax error" in env.step("SELECT nothing")[0]
    assert env.step(env.oracle())[4]["is_success"]


def test_questions_without_a_database_are_refused():
    with pytest.raises(InputError, match="that queries answer"):
        gym.make("palaestra/SQLDebugging-v0", of="palaestra/SQLResult-v0")
