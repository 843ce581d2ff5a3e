"""SQLSchema: schemas with the behaviour asked for are right however they are written, and others are wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium as gym
import pytest
from palaestra.envs.sql.definitions.definition_grammar import KINDS
from palaestra.envs.sql.definitions.definition_probes import definition_misses

from .engines.engines import env_or_skip, every_engine


def play(env, state, statements):
    env.set_state(state)
    return env.step(f"```sql\n{statements}\n```")[4]


@every_engine
@pytest.mark.parametrize("kind", KINDS)
def test_right_statements_succeed_and_near_misses_fail(engine, kind):
    env = env_or_skip(engine, "SQLSchema", split="all", kind=kind)
    judged = 0
    for seed in range(3 if engine == "sqlite" else 2):
        env.reset(seed=seed, options={"params": {"rules": 3}})
        state, definition = env.get_state(), env.here().data.definition
        assert play(env, state, env.here().reference)["is_success"]
        for _, miss in list(definition_misses(definition))[:: 1 if engine == "sqlite" else 5]:
            statements = [f"{one};" for one in env._statements(miss)]
            if engine == "duckdb" and " ON DELETE " in "".join(statements):
                continue
            info = play(env, state, "\n".join(statements))
            assert not info["is_success"], statements
            assert info["reward_valid"]
            judged += 1
        if definition.old and definition.table:
            # Made anew instead of altered.
            assert play(
                env, state, "".join(f"{one};" for one in replace(definition, kind="rule").statements(env.dialect))
            )["is_success"]
    assert judged or kind == "drop"


def test_rules_may_be_written_in_other_ways():
    env: Any = gym.make("palaestra/SQLSchema-v0", disable_env_checker=True, split="all", kind="create").unwrapped
    for seed in range(200):
        env.reset(seed=seed, options={"params": {"rules": 4}})
        table = env.here().data.definition.table
        if any(one.unique for one in table.columns) and any(one.low is not None for one in table.columns):
            break
    state, gold = env.get_state(), env.here().reference
    unique = next(one for one in table.columns if one.unique)
    low = next(one for one in table.columns if one.low is not None)
    index = f"CREATE UNIQUE INDEX other ON {table.name} ({unique.name});"
    assert play(env, state, gold.replace(" UNIQUE", "", 1) + index)["is_success"]
    assert not play(env, state, gold.replace(" UNIQUE", "", 1))["is_success"]
    positive = gold.replace(f"CHECK ({low.name} >=", f"CHECK (NOT {low.name} <")
    assert play(env, state, positive)["is_success"]
    assert not play(env, state, positive.replace("NOT ", "", 1) if "NOT NULL" not in positive else "")["is_success"]


def test_what_is_refused_says_why():
    env: Any = gym.make("palaestra/SQLSchema-v0", disable_env_checker=True, split="all", kind="drop").unwrapped
    env.reset(seed=0)
    state, gold = env.get_state(), env.here().reference
    for text, error in [
        (f"PRAGMA foreign_keys = OFF; {gold}", "not PRAGMA"),
        (f"BEGIN; {gold} COMMIT;", "not BEGIN"),
        (f"{gold} {gold}", "no such"),
        ("CREATE TRIGGER a AFTER INSERT ON b BEGIN SELECT 1; END", "tables, views and indexes only"),
    ]:
        assert error in play(env, state, text)["action_error"]
    assert play(env, state, gold)["is_success"]
    further = play(env, state, f"{gold} CREATE TABLE further (a INTEGER);")
    assert (further["is_success"], further["action_error"]) == (False, None)


def test_views_show_what_becomes_of_the_tables():
    env: Any = gym.make("palaestra/SQLSchema-v0", disable_env_checker=True, split="all", kind="view").unwrapped
    for seed in range(3):
        env.reset(seed=seed)
        state, gold = env.get_state(), env.here().reference
        name, columns, query = env.here().data.definition.view
        result = f"{name} AS WITH q ({', '.join(columns)}) AS ({query}) SELECT * FROM q"
        assert play(env, state, f"CREATE VIEW {result}")["is_success"]
        assert not play(env, state, f"CREATE TABLE {result}")["is_success"]
        assert not play(env, state, gold.replace(f" {name} ", f" {name}_x "))["is_success"]


@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
def test_the_same_tasks_stand_on_other_engines_without_delete_actions(engine):
    env, base = env_or_skip(engine, "SQLSchema", split="all"), env_or_skip("sqlite", "SQLSchema", split="all")
    same = 0
    for seed in range(8):
        env.reset(seed=seed)
        base.reset(seed=seed)
        same += env.here().content == base.here().content
        assert engine == "postgres" or " ON DELETE " not in env.here().reference
        assert env.step(env.oracle())[4]["is_success"]
    assert same == 8 if engine == "postgres" else same >= 4
