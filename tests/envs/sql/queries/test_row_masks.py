"""Rows selected on many worlds, against SQLite on each of them."""

from __future__ import annotations

import contextlib
from collections import Counter

import numpy as np
import pytest
from palaestra.envs.code.programs.dice import Dice
from palaestra.envs.sql.databases.contents import draw_rows, insert_rows, make_database, tidy_rows
from palaestra.envs.sql.databases.worlds import draw_worlds
from palaestra.envs.sql.queries.constructs import CONSTRUCTS, draw_with, prepare_plan
from palaestra.envs.sql.queries.near_misses import near_misses
from palaestra.envs.sql.queries.query_plans import draw_plan
from palaestra.envs.sql.queries.query_tree import AggregateOf, SelectQuery, SetQuery, replace
from palaestra.envs.sql.queries.row_masks import RowMasks
from palaestra.envs.sql.queries.witnesses import choose_focus

COUNT = 5


def drawn_queries(seeds, construct=""):
    """Yield queries with their schemas and contents."""
    for seed in seeds:
        dice = Dice(np.random.default_rng(seed))
        plan = prepare_plan(dice, draw_plan(dice, seed % 3, 1, 1), construct)
        if plan is None:
            continue
        rows = draw_rows(plan.schema, seed)
        query = draw_with(dice, plan, tidy_rows(plan.schema, rows), 1 + seed % 4, seed // 2 % 3, construct)
        if query:
            yield seed, query, plan.schema, rows


def count_selected(query):
    """Return the queries that count the rows, or the groups, that a query selects."""
    if query.group:
        plain = replace(query, columns=query.group, group=(), having=(), order=(), limit=None, distinct=True)
        return f"SELECT COUNT(*) FROM ({plain.sql()})"
    return SelectQuery((AggregateOf("COUNT"),), query.table, query.joins, query.where).sql()


def key_rows(query, schema):
    """Write the query for the keys of the selected rows."""
    keys = [f"{table}.{schema[table].key}" for table in (query.table, *(join.column.table for join in query.joins))]
    where = f" WHERE {' AND '.join(one.sql(True) for one in query.where)}" if query.where else ""
    joins = "".join(f" {join.sql()}" for join in query.joins)
    return f"SELECT {', '.join(keys)} FROM {query.table}{joins}{where}"


@pytest.mark.parametrize("construct", ["", *CONSTRUCTS])
def test_near_misses_select_other_rows_where_sqlite_says_so(construct):
    judged: Counter[bool] = Counter()
    unknown = 0
    for seed, query, schema, rows in drawn_queries(range(30 if construct else 90), construct):
        focuses = choose_focus(query, schema)
        worlds = draw_worlds(schema, np.random.default_rng(seed), focuses, rows, COUNT)
        masks = RowMasks(worlds)
        misses = [miss for _, miss in near_misses(query, schema)]
        told = [(miss, masks.differ(query, miss)) for miss in misses]
        unknown += sum(found is None for _, found in told)
        with contextlib.closing(make_database(schema, rows)) as connection:
            for world in range(COUNT):
                insert_rows(connection, schema, worlds.rows(world), worlds.sizes)
                for miss, found in told:
                    if found is None:
                        continue
                    pairs = [(query, miss)]
                    if isinstance(query, SetQuery):
                        pairs = [(query.left, miss.left), (query.right, miss.right)]
                    differs = any(
                        sorted(map(str, connection.execute(key_rows(one, schema))))
                        != sorted(map(str, connection.execute(key_rows(other, schema))))
                        for one, other in pairs
                    )
                    assert differs == found[world], (seed, query.sql(), miss.sql())
                    judged[differs] += 1
    assert unknown
    if not construct:
        assert min(judged[True], judged[False]) > 1000


def test_selected_rows_and_groups_are_counted():
    found = Counter()
    for seed, query, schema, rows in drawn_queries(range(60)):
        if isinstance(query, SetQuery):
            continue
        worlds = draw_worlds(schema, np.random.default_rng(seed), choose_focus(query, schema), rows, COUNT)
        counts = RowMasks(worlds).count_rows(query)
        with contextlib.closing(make_database(schema, rows)) as connection:
            for world in range(COUNT):
                insert_rows(connection, schema, worlds.rows(world), worlds.sizes)
                assert connection.execute(count_selected(query)).fetchone()[0] == counts[world], query.sql()
                found[bool(query.group)] += 1
    assert min(found.values()) > 50
