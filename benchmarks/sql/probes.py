"""Two kinds of mistake that results hardly show: another average in a nested query, and an order that leaves rows tied.

A query with another average counts as wrong if its result differs on one of many contents of the schema. A query with
an incomplete order always counts as wrong, since an engine may sort tied rows as asked by accident.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym

from ...envs.sql.engines import grade_query, make_engine
from ...envs.sql.queries.query_tree import is_ordered_query
from ..harness import require, track
from .labels import find_differences, write_for

_DIFFICULTIES = (0.5, 0.75, 1.0)
# Number of contents on which averages are compared.
_CONTENTS = 150


@dataclass
class Probe:
    """Queries with one mistake.

    Args:
        mistake: the mistake.
        tasks: number of queries with the mistake.
        wrong: number of these queries that are wrong.
        accepted: engine -> number of wrong queries that were graded as right.
    """

    mistake: str
    tasks: int = 0
    wrong: int = 0
    accepted: dict[str, int] = field(default_factory=dict)


def probe_graders(engines: Sequence[str], seeds: int) -> list[Probe]:
    """Let each engine grade both kinds of mistake in the tasks of ``seeds`` seeds at three difficulties."""
    require("'palaestra bench sql'", "sql", "sqlglot")
    env: Any = gym.make("palaestra/TextToSQL-v0", split="all", disable_env_checker=True).unwrapped
    found: dict[str, Probe] = {}
    for seed in track(range(seeds), "probing"):
        for difficulty in _DIFFICULTIES:
            env.reset(seed=seed, options={"difficulty": difficulty})
            known, gold = env.here().data, env.here().reference
            averages, orders = dict(other_averages(gold)), dict(other_orders(gold))
            texts = {*averages.values()} - {gold}
            told = find_differences(known, gold, texts, _CONTENTS) if texts else set()
            for mistake, text in (averages | orders).items():
                probe = found.setdefault(mistake, Probe(mistake, accepted=dict.fromkeys(engines, 0)))
                probe.tasks += 1
                if mistake in averages and text not in told:
                    continue
                probe.wrong += 1
                for name in engines:
                    probe.accepted[name] += _accepts(known, text, name)
    return sorted(found.values(), key=lambda one: one.mistake)


def _accepts(known: Any, text: str, name: str) -> bool:
    dialect = make_engine(name).dialect
    return grade_query(
        write_for(text, dialect),
        known.witnesses.expected,
        ordered=is_ordered_query(known.query),
        tied=known.witnesses.tied,
        engine=name,
        schema=known.plan.schema.ddl_for(dialect),
    ).success


def other_averages(gold: str) -> Iterator[tuple[str, str]]:
    """Yield (mistake, query) for each wrong way of writing the averages of nested queries."""
    from sqlglot import exp, parse_one

    tree: Any = parse_one(gold, read="sqlite")
    if not any(one.find_ancestor(exp.Subquery) for one in tree.find_all(exp.Avg)):
        return
    for mistake, form in (
        ("average: sum over count", "SUM({0}) / COUNT({0})"),
        ("average: rounded", "ROUND(AVG({0}))"),
        ("average: without its fraction", "CAST(AVG({0}) AS INTEGER)"),
        ("average: of distinct values", "AVG(DISTINCT {0})"),
        ("average: NULL as 0", "SUM({0}) * 1.0 / COUNT(*)"),
    ):

        def change(node: Any, form: str = form) -> Any:
            if isinstance(node, exp.Avg) and node.find_ancestor(exp.Subquery):
                return parse_one(form.format(node.this.sql(dialect="sqlite")), read="sqlite")
            return node

        yield mistake, tree.transform(change).sql(dialect="sqlite")


def other_orders(gold: str) -> Iterator[tuple[str, str]]:
    """Yield (mistake, query) without the order of a query, and without the last of several keys."""
    from sqlglot import parse_one

    tree: Any = parse_one(gold, read="sqlite")
    if order := tree.args.get("order"):
        if len(order.expressions) > 1:
            order.set("expressions", order.expressions[:-1])
            yield "order: without the last key", tree.sql(dialect="sqlite")
        tree.set("order", None)
        yield "order: left out", tree.sql(dialect="sqlite")
