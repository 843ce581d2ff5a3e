"""SQLChange: what is right and wrong on each engine, and how well near misses are told apart."""

from __future__ import annotations

import contextlib
import random
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from palaestra.envs.sql.databases.contents import draw_rows
from palaestra.envs.sql.databases.worlds import draw_worlds
from palaestra.envs.sql.engines.dialects import translate_statement
from palaestra.envs.sql.queries.change_grammar import KINDS
from palaestra.envs.sql.queries.change_misses import ORDER, change_misses
from palaestra.envs.sql.queries.change_witnesses import ChangeRunner, choose_focuses
from palaestra.errors import InputError

from .engines.engines import env_or_skip, every_engine


@pytest.fixture(scope="module")
def env() -> Any:
    return gym.make("palaestra/SQLChange-v0", disable_env_checker=True, split="all").unwrapped


def play(env, state, statements):
    env.set_state(state)
    return env.step(f"```sql\n{statements}\n```")[4]


def test_near_misses_of_drawn_tasks_are_told_apart(env):
    number = survivors = 0
    for seed in range(25):
        env.reset(seed=seed, options={"difficulty": seed % 5 / 4} if seed % 2 else {})
        witnesses = env.here().data.witnesses
        number += len(witnesses.near_misses)
        survivors += len(witnesses.survivors)
        assert len(witnesses.expected) >= 2
    assert number > 500
    assert survivors / number < 0.01


@every_engine
def test_right_statements_succeed_and_near_misses_fail(engine):
    env = env_or_skip(engine, "SQLChange", split="all")
    judged, tasks = 0, 20 if engine == "sqlite" else 7
    for place in range(tasks):
        env.reset(seed=place, options={"params": {"kind": KINDS[place % len(KINDS)]}})
        state, known = env.get_state(), env.here().data
        survivors = {sql for _, sql in known.witnesses.survivors}
        assert play(env, state, env.here().reference)["is_success"]
        # An outer join is often equivalent, and a mean of whole numbers has a fraction on other engines.
        misses = [
            other
            for kind, other in change_misses(known.change, known.schema)
            if kind not in (ORDER, "join", "average") and other.sql() not in survivors
        ]
        for other in random.Random(place).sample(misses, min(len(misses), 8)):
            if "REPLACE" not in other.sql():
                judged += 1
                text = ";\n".join(translate_statement(one, env.dialect) for one in other.statements)
                info = play(env, state, text)
                assert not info["is_success"], text
                assert info["reward_valid"]
    assert judged > 4 * tasks


def test_the_right_statements_run_on_other_contents_too(env):
    for seed in range(20):
        env.reset(seed=seed, options={"difficulty": seed % 5 / 4})
        known = env.here().data
        focuses = choose_focuses(known.change, known.schema)
        first = draw_rows(known.schema, 77)
        worlds = draw_worlds(known.schema, np.random.default_rng(1000), focuses, first, 10)
        with contextlib.closing(ChangeRunner(known.schema, first)) as runner:
            for place in range(10):
                runner.load(first | worlds.rows(place))
                assert runner.states(known.change.statements, known.schema.names) is not None, known.change.sql()


@every_engine
def test_every_table_counts(engine):
    """A change of a table that the request does not name is wrong."""
    env = env_or_skip(engine, "SQLChange", split="all", kind="update", axes={"tables": [2, 2]})
    env.reset(seed=4)
    state, known = env.get_state(), env.here().data
    other = next(one for one in known.schema.relations if one.name not in known.change.tables)
    column = next(one.name for one in other.fields if one.kind not in ("key", "parent"))
    gold = env.here().reference
    assert play(env, state, f"{gold} UPDATE {other.name} SET {column} = {column};")["is_success"]
    last = f"UPDATE {other.name} SET {column} = (SELECT MAX({column}) FROM {other.name})"
    info = play(env, state, f"{gold} {last};")
    assert (info["is_success"], info["action_error"]) == (False, None)


@every_engine
def test_what_is_refused_says_why(engine):
    env = env_or_skip(engine, "SQLChange", split="all", kind="delete")
    env.reset(seed=2)
    state, known = env.get_state(), env.here().data
    gold, table = env.here().reference, known.change.tables[0]
    for text, error in [
        (f"BEGIN; {gold} COMMIT;", "not BEGIN"),
        (f"{gold} DROP TABLE {table};", "not DROP"),
        ("SELECT 1", "not SELECT"),
        ("DELETE FROM no_such_table", "no_such_table"),
        ("", ""),
    ]:
        info = play(env, state, text)
        assert error in info["action_error"]
        assert not info["is_success"]
    assert play(env, state, f"-- as asked\n{gold}")["is_success"]


@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
def test_the_same_tasks_stand_on_other_engines(engine):
    env, base = env_or_skip(engine, "SQLChange", split="all"), env_or_skip("sqlite", "SQLChange", split="all")
    for seed in range(8):
        options = {"difficulty": seed % 5 / 4}
        prompt, info = env.reset(seed=seed, options=options)
        plain, other = base.reset(seed=seed, options=options)
        assert info["task_id"] == other["task_id"]
        assert prompt.split("\n\n")[1].split("\nAnswer")[0] == plain.split("\n\n")[1].split("\nAnswer")[0]
        assert "strftime" not in "".join(info["extras"]["solution_steps"])
        assert env.step(env.oracle())[4]["is_success"]


@pytest.mark.parametrize("kind", KINDS)
def test_requests_are_of_the_kind_asked_for(kind):
    env: Any = gym.make("palaestra/SQLChange-v0", disable_env_checker=True, kind=kind, steps=1).unwrapped
    verbs = {
        "insert": "INSERT",
        "upsert": "INSERT",
        "delete": "DELETE",
        "copy": "INSERT",
        "update": "UPDATE",
        "compute": "UPDATE",
    }
    for seed in range(4):
        env.reset(seed=seed)
        gold = env.here().reference
        if kind == "cascade":
            assert len(gold.split(";\n")) > 1
        else:
            assert gold.startswith(verbs[kind])
            assert ("ON CONFLICT" in gold) is (kind == "upsert")
            assert (" SELECT " in gold and "VALUES" not in gold) or kind != "copy"


def test_steps_come_one_after_the_other():
    env: Any = gym.make("palaestra/SQLChange-v0", disable_env_checker=True, steps=3).unwrapped
    prompt, _ = env.reset(seed=1)
    assert all(f"\n{lead}" in prompt for lead in ("First: ", "Then, on the result of that: ", "Finally, on the result"))
    assert len(env.here().data.change.steps) == 3


def test_domains_and_compact_prompts_are_as_for_queries():
    with pytest.raises(InputError, match="garden"):
        gym.make("palaestra/SQLChange-v0", domains=["garden"])
    env: Any = gym.make("palaestra/SQLChange-v0", prompt="compact", domains="shop").unwrapped
    prompt, _ = env.reset(seed=0)
    assert env.here().data.schema.domain == "shop"
    assert prompt.startswith(env.here().data.schema.outline)
    assert prompt.endswith("Answer with SQLite statements.")
