"""Rows compared with their superior, and plans with a hierarchy."""

from __future__ import annotations

import numpy as np
from palaestra.envs.code.programs.dice import Dice
from palaestra.envs.sql.databases.contents import draw_rows
from palaestra.envs.sql.queries.constructs.superior_pairs import SuperiorPairs, add_hierarchy
from palaestra.envs.sql.queries.query_plans import draw_plan

from .firm import NAME, WAGE, ask, run, same_misses

QUERY = SuperiorPairs("worker", "superior_id", "superior", (NAME,), (NAME,), (), WAGE, ">")


def test_a_row_is_compared_with_its_superior():
    assert run(QUERY) == [("Eve", "Di")]
    assert same_misses(QUERY) == []
    assert ask(QUERY) == (
        "worker.superior_id is the id of another worker, its superior (NULL if it has none). For every worker, give "
        "its name and its superior's name. Keep only those whose wage is more than the superior's wage. Do not remove "
        "duplicate rows."
    )


def test_every_domain_can_have_a_hierarchy_without_circles():
    domains = set()
    for seed in range(60):
        dice = Dice(np.random.default_rng(seed))
        plan = add_hierarchy(dice, draw_plan(dice, seed % 2, 0, 0))
        assert plan is not None
        domains.add(plan.schema.domain)
        relation = plan.schema[plan.base]
        (place,) = [place for place, field in enumerate(relation.fields) if field.kind == "self"]
        for row in draw_rows(plan.schema, seed)[plan.base]:
            assert row[place] is None or row[place] < row[0]
    assert len(domains) == 9
