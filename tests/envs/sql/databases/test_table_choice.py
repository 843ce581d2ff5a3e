"""Choice of tables: databases of one domain, and of several under one roof."""

from __future__ import annotations

import re

import gymnasium as gym
import numpy as np
import pytest
from palaestra.envs.code.programs.dice import Dice
from palaestra.envs.sql.databases.contents import draw_rows, make_database
from palaestra.envs.sql.databases.domains import read_domains
from palaestra.envs.sql.queries.query_plans import draw_plan
from palaestra.errors import InputError


def dice(seed: int) -> Dice:
    return Dice(np.random.default_rng(seed))


@pytest.mark.parametrize("seed", range(8))
def test_many_tables_come_from_several_domains_with_twins_and_consistent_keys(seed: int):
    joins = seed % 4
    plan = draw_plan(dice(seed), joins, 40, 2)
    schema = plan.schema
    assert len(schema.names) == len(set(schema.names)) == 41 + joins
    homes = {name: one.domain for one in read_domains() for name in one.names}
    assert len({homes[name] for name in schema.names if name in homes}) >= 3
    twins = [name for name in schema.names if name not in homes]
    assert len(twins) >= 8
    assert all(name.partition("_")[2] in schema.names for name in twins)
    used = {plan.base, *(join.column.table for join in plan.joins)}
    assert used <= {name.partition("_")[2] for name in twins}
    for relation in schema.relations:
        assert all(field.values[0] in schema.names for field in relation.parents)
    connection = make_database(schema, draw_rows(schema, seed))
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    columns = {field.name for name in used for field in schema[name].fields}
    assert columns.isdisjoint(schema.names)
    connection.close()


def test_columns_and_tables_called_otherwise_have_comments():
    schema = next(one for seed in range(20) if "volume" in (one := draw_plan(dice(seed), 0, 40, 0).schema).names)
    volume = next(line for line in schema.ddl.split("\n") if line.startswith("CREATE TABLE volume "))
    assert volume.startswith("CREATE TABLE volume /* copies */ (")
    assert "bought_on TEXT NOT NULL /* purchase date */" in volume
    assert "condition TEXT NOT NULL" in volume
    assert "/*" not in draw_plan(dice(1), 2, 4, 4).schema.ddl


def test_a_small_domain_that_is_asked_for_is_widened():
    plan = draw_plan(dice(0), 2, 3, 0, ("restaurant",))
    assert len(plan.schema.names) == 6
    assert {"kitchen", "dish", "serving"} < set(plan.schema.names)
    with pytest.raises(InputError, match="joins=3 needs 4 tables"):
        draw_plan(dice(0), 3, 0, 0, ("restaurant",))


def test_questions_on_forty_tables_are_answered():
    for name, most in (("TextToSQL", 14_000), ("SQLRepair", 14_000), ("SQLDebugging", 14_000)):
        env = gym.make(f"palaestra/{name}-v0", disable_env_checker=True, tables=40).unwrapped
        for seed in range(4):
            prompt, _ = env.reset(seed=seed, options={"difficulty": seed / 3})
            assert len(re.findall("CREATE TABLE", prompt)) >= 41
            assert len(prompt) < most
            assert env.step(env.oracle())[4]["is_success"]
