"""Columns kept untidily: proofs about wrong readings hold on all contents."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import numpy as np
from palaestra.envs.code.programs.dice import Dice
from palaestra.envs.sql.databases.contents import draw_rows, make_database, tidy_rows
from palaestra.envs.sql.queries.constructs import draw_with, prepare_plan
from palaestra.envs.sql.queries.equivalence import normal_form
from palaestra.envs.sql.queries.near_misses import near_misses
from palaestra.envs.sql.queries.query_plans import draw_plan
from palaestra.envs.sql.queries.stored_columns import as_meant, list_stored
from palaestra.rewards.verifiers.sql import round_floats, same_rows


def draw(seeds):
    """Yield plans, seeds and queries on untidy columns."""
    for seed in seeds:
        dice = Dice(np.random.default_rng(seed))
        plan = prepare_plan(dice, draw_plan(dice, seed % 2, 1, 2), "dirty")
        if plan is not None:
            rows = tidy_rows(plan.schema, draw_rows(plan.schema, seed))
            if query := draw_with(dice, plan, rows, 1 + seed % 4, seed % 2, "dirty"):
                yield plan, seed, query


def test_a_query_that_tidies_has_the_rows_that_the_tidy_query_has_on_tidy_contents():
    number = 0
    for plan, seed, query in draw(range(60)):
        number += 1
        assert list_stored(query)
        assert not list_stored(as_meant(query))
        kept, schema = draw_rows(plan.schema, seed), plan.schema
        for table in plan.schema.relations:
            for field in table.fields:
                schema = schema.with_field(table.name, replace(field, stored=""))
        found = []
        for one, rows, text in (
            (plan.schema, kept, query.sql()),
            (schema, tidy_rows(plan.schema, kept), as_meant(query).sql()),
        ):
            with contextlib.closing(make_database(one, rows)) as connection:
                found.append(round_floats(connection.execute(text).fetchall()))
        assert same_rows(found[0], found[1], False), query.sql()
    assert number > 20


def test_readings_that_are_proved_equivalent_have_the_same_rows():
    proved = 0
    for plan, seed, query in draw(range(120)):
        normal = normal_form(query, plan.schema)
        same = [miss for _, miss in near_misses(query, plan.schema) if normal_form(miss, plan.schema) == normal]
        same = [miss for miss in same if miss != query and as_meant(miss) == as_meant(query)]
        proved += len(same)
        for other in range(12 if same else 0):
            with contextlib.closing(
                make_database(plan.schema, draw_rows(plan.schema, seed + 1000 * other))
            ) as connection:
                expected = round_floats(connection.execute(query.sql()).fetchall())
                for miss in same:
                    found = round_floats(connection.execute(miss.sql()).fetchall())
                    assert same_rows(found, expected, False), (query.sql(), miss.sql())
    assert proved > 10
