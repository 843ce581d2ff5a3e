"""Right queries that are slow: forms of a query whose time grows with the square of the rows, and how they are judged.

Made with sqlglot from the text of the query; the code is independent of what decides which tasks are drawn. Forms for
each row of a result: a subquery in place of an aggregate of groups, a count of the rows before it in place of a rank,
a search of another table in place of membership, and joins on keys as text, which no index serves.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import sqlglot
from sqlglot import exp

from ...envs.sql.engines import make_engine
from ...envs.sql.queries.query_tree import is_ordered_query
from ..harness import track
from .labels import write_for
from .rewrites import equivalent_queries, write

_DIFFICULTIES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass
class SlowVerdicts:
    """Verdicts on queries of one form: numbers of queries, refused as slow, accepted, and with another verdict; and the
    seconds of the clock, without the making of the database."""

    form: str
    queries: int = 0
    slow: int = 0
    accepted: int = 0
    other: int = 0
    seconds: float = 0.0
    changed: int = 0
    """verdicts that were another one when they were repeated"""

    @property
    def mean(self) -> float:
        """Seconds for one query."""
        return self.seconds / max(self.queries, 1)


def judge_slow_forms(
    engine: str, tasks: int, seed: int, rows: int, repeats: int, constructs: Sequence[str] = ()
) -> list[SlowVerdicts]:
    """Let an engine judge slow forms of the right queries of drawn tasks, and all fast ones of `equivalent_queries`.

    Args:
        engine: name of the engine.
        tasks: number of tasks, over five difficulties.
        seed: seed of the first one.
        rows: rows of the largest table.
        repeats: number of times that each slow form is judged.
        constructs: as for the environment.
    """
    asked = {"engine": engine, "rows": rows, "constructs": constructs, "split": "all", "disable_env_checker": True}
    env: Any = gym.make("palaestra/TextToSQL-v0", **asked).unwrapped
    dialect = make_engine(engine).dialect
    found: dict[str, SlowVerdicts] = {}
    for place in track(range(tasks), f"slow forms, {engine}"):
        env.reset(seed=seed + place, options={"difficulty": _DIFFICULTIES[place % len(_DIFFICULTIES)]})
        task = env.here()
        gold = task.data.query.sql()
        fast = [("fast", text) for _, text in equivalent_queries(gold, is_ordered_query(task.data.query))]
        env.verify(task, task.reference)  # makes the database
        for form, text in [("right query", gold), *fast, *slow_queries(gold)]:
            verdicts = found.setdefault(form, SlowVerdicts(form))
            text = write_for(text, dialect)
            start = time.perf_counter()
            verdict = env.verify(task, text)
            verdicts.seconds += time.perf_counter() - start
            verdicts.queries += 1
            verdicts.accepted += verdict.success
            is_slow = "too slow" in verdict.feedback
            verdicts.slow += is_slow
            verdicts.other += not (is_slow or verdict.success)
            if form not in ("right query", "fast"):
                verdicts.changed += any(env.verify(task, text) != verdict for _ in range(repeats - 1))
    return list(found.values())


def slow_queries(gold: str) -> Iterator[tuple[str, str]]:
    """Yield (form, query) for each slow form of a right query."""
    tree: Any = sqlglot.parse_one(gold, read="sqlite")
    select = tree if isinstance(tree, exp.Select) else None
    if select is not None and select.args.get("group"):
        yield "subquery for each row", write(_subqueries_for_groups(select))
    if select is not None and any(select.find_all(exp.Window)):
        yield "rows before each row", write(_subqueries_for_windows(select))
    exists = tree.transform(_search_for_keys)
    if exists != tree:
        yield "search for each row", write(exists)
    joined = tree.transform(_join_by_text)
    if joined != tree:
        yield "join on text", write(joined)


def _qualify(select: Any, end: str) -> Any:
    """Copy a query, with an alias for each of its tables, its name and ``end``."""
    copied = select.copy()
    sources = [copied.args["from_"].this, *(join.this for join in copied.args.get("joins") or ())]
    for column in copied.find_all(exp.Column):
        if column.find_ancestor(exp.Select) is copied:
            column.set("table", exp.to_identifier((column.table or sources[0].name) + end))
    for table in sources:
        table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name + end)))
    return copied


def _subquery(inner: Any, column: Any, condition: Any) -> Any:
    """Make the scalar subquery of a column of ``inner`` under one more condition."""
    made = exp.select(column.copy()).from_(inner.args["from_"].this.copy())
    made.set("joins", [join.copy() for join in inner.args.get("joins") or ()])
    made.set("where", inner.args["where"].copy() if inner.args.get("where") else None)
    return made.where(condition)


def _subqueries_for_groups(select: Any) -> Any:
    outer, inner = _qualify(select, ""), _qualify(select, "_2")
    keys = list(zip(outer.args["group"].expressions, inner.args["group"].expressions))
    same = exp.and_(*[exp.NullSafeEQ(this=mine.copy(), expression=key.copy()) for key, mine in keys])

    def put_subqueries(mine: Any, theirs: Any) -> Any:
        places = [node for node in mine.find_all(exp.AggFunc) if not node.find_ancestor(exp.Subquery)]
        others = [node for node in theirs.find_all(exp.AggFunc) if not node.find_ancestor(exp.Subquery)]
        for node, other in zip(places, others, strict=True):
            made = _subquery(inner, other, same).subquery()
            if node is mine:
                mine = made
            else:
                node.replace(made)
        return mine

    columns = [put_subqueries(one, other) for one, other in zip(outer.expressions, inner.expressions)]
    order = outer.args.get("order")
    sorts = list(zip(order.expressions, inner.args["order"].expressions)) if order else []
    ways = [one.args.get("desc") for one, _ in sorts]
    sorts = [put_subqueries(one.this, other.this) for one, other in sorts]
    named = [exp.alias_(one.copy(), f"c{place}") for place, one in enumerate(columns)]
    named += [exp.alias_(one.copy(), f"k{place}") for place, one in enumerate(sorts)]
    named += [exp.alias_(one.copy(), f"g{place}") for place, (one, _) in enumerate(keys)]
    base = exp.select(*named).from_(outer.args["from_"].this).distinct()
    base.set("joins", outer.args.get("joins"))
    base.set("where", outer.args.get("where"))
    if outer.args.get("having"):
        base = base.where(put_subqueries(outer.args["having"].this, inner.args["having"].this))
    whole = exp.select(*[f"c{place}" for place in range(len(columns))]).from_(base.subquery("answer"))
    if ways:
        whole = whole.order_by(*[exp.Ordered(this=exp.column(f"k{n}"), desc=desc) for n, desc in enumerate(ways)])
    whole.set("limit", outer.args.get("limit"))
    return whole


def _subqueries_for_windows(select: Any) -> Any:
    outer, inner = _qualify(select, ""), _qualify(select, "_2")
    for mine, theirs in zip(list(outer.find_all(exp.Window)), list(inner.find_all(exp.Window)), strict=True):
        (key,), (other,) = mine.args["order"].expressions, theirs.args["order"].expressions
        ranks = isinstance(mine.this, exp.Rank)
        before: Any = exp.GT if key.args.get("desc") else exp.LT
        if isinstance(mine.this, exp.Sum):
            before = exp.GTE if key.args.get("desc") else exp.LTE
        parts = zip(mine.args.get("partition_by") or (), theirs.args.get("partition_by") or ())
        conditions = [exp.EQ(this=one.copy(), expression=part.copy()) for part, one in parts]
        conditions.append(before(this=other.this.copy(), expression=key.this.copy()))
        column = (
            exp.Count(this=exp.Star()) if ranks else theirs.this if isinstance(mine.this, exp.Sum) else theirs.this.this
        )
        made = _subquery(inner, column, exp.and_(*conditions))
        if isinstance(mine.this, exp.Lag):
            made = made.order_by(exp.Ordered(this=other.this.copy(), desc=not key.args.get("desc"))).limit(1)
        value = made.subquery()
        mine.replace(exp.paren(exp.Add(this=exp.Literal.number(1), expression=value)) if ranks else value)
    return outer


def _search_for_keys(node: Any) -> Any:
    query = node.args.get("query") if isinstance(node, exp.In) else None
    if query is None:
        return node
    select, column = query.this, node.this.copy()
    owner: Any = node.find_ancestor(exp.Select)
    table = owner.args["from_"].this
    if select.args["from_"].this.name == table.name:
        return node
    inner = _qualify(select, "_2")
    if not column.table:
        column.set("table", exp.to_identifier(table.alias_or_name))
    found = inner.expressions[0].copy()
    inner.set("expressions", [exp.Literal.number(1)])
    return exp.Exists(this=inner.where(exp.EQ(this=found, expression=column)))


def _join_by_text(node: Any) -> Any:
    if isinstance(node, exp.Join) and isinstance(node.args.get("on"), exp.EQ):
        on = node.args["on"]
        node.set("on", exp.EQ(this=exp.cast(on.this.copy(), "TEXT"), expression=exp.cast(on.expression.copy(), "TEXT")))
    return node
