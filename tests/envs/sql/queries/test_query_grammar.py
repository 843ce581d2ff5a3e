"""The grammar: what the parameters ask for, and queries that run."""

from __future__ import annotations

import contextlib
from collections import Counter

import numpy as np
import pytest
from palaestra.envs.code.programs.dice import Dice
from palaestra.envs.sql.databases.contents import draw_rows, make_database
from palaestra.envs.sql.queries.query_grammar import draw_query
from palaestra.envs.sql.queries.query_plans import draw_plan
from palaestra.envs.sql.queries.query_steps import write_steps
from palaestra.envs.sql.queries.query_tree import SetQuery, is_ordered_query
from palaestra.envs.sql.queries.wording import STYLES, write_question


@pytest.mark.parametrize(("joins", "tables", "noise"), [(0, 0, 0), (2, 1, 2), (3, 4, 4)])
def test_a_plan_has_the_joins_tables_and_spare_columns_asked_for(joins, tables, noise):
    found = []
    for seed in range(20):
        plan = draw_plan(Dice(np.random.default_rng(seed)), joins, tables, noise)
        assert len(plan.joins) == joins
        assert len(plan.schema.names) == joins + 1 + tables
        spare = sum(field.spare for relation in plan.schema.relations for field in relation.fields)
        found.append(spare)
    assert max(found) == noise


def test_queries_of_every_kind_are_drawn_and_run_and_are_asked_for_in_both_styles():
    seen = set()
    for seed in range(300):
        dice = Dice(np.random.default_rng(seed))
        plan = draw_plan(dice, (seed // 6) % 3, seed % 3, 1)
        rows = draw_rows(plan.schema, seed)
        query = draw_query(dice, plan, rows, 1 + seed % 6, seed % 3)
        if query is None:
            continue
        text = query.sql()
        with contextlib.closing(make_database(plan.schema, rows)) as connection:
            found = connection.execute(text).fetchall()
            # Nothing is left to the order in which the rows are visited: ties are broken, above all at a limit.
            table = (query.left if isinstance(query, SetQuery) else query).table
            backwards = f"(SELECT * FROM {table} ORDER BY 1 DESC LIMIT 1000) AS {table}"
            other = connection.execute(text.replace(f"FROM {table}", f"FROM {backwards}", 1)).fetchall()
        assert found == other if is_ordered_query(query) else Counter(found) == Counter(other)
        # A rank is one among the rows that are listed.
        assert "RANK()" not in text or "LIMIT" not in text
        seen |= {word for word in WORDS if word in text}
        assert text.count("(SELECT") == seed % 3
        questions = {write_question(query, plan.schema, style, dice) for style in STYLES}
        assert len(questions) == 2
        assert all(one.isascii() and one.endswith(".") and "  " not in one for one in questions)
        assert len(write_steps(query)) >= 2
    assert seen == set(WORDS)


WORDS = (
    *("DISTINCT", " JOIN ", "LEFT JOIN", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "UNION", "INTERSECT"),
    *("EXCEPT", "RANK() OVER", "PARTITION BY", "NOT IN", "BETWEEN", "LIKE", "IS NULL", "IS NOT NULL", " OR "),
    *("COUNT(*)", "COUNT(DISTINCT", "SUM(", "AVG(", "MIN(", "MAX(", "<>", "strftime"),
)
