"""Statements made from the right ones of a task of SQLChange: other ways to write them, and ones with a mistake.

The mistakes are made in the text of statements, independently of the near misses from which tasks choose databases.
"""

from __future__ import annotations

import contextlib
import datetime
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
from sqlglot import exp, parse_one

from ...envs.sql.databases.contents import draw_rows, format_literal
from ...envs.sql.databases.relations import Schema
from ...envs.sql.databases.worlds import draw_worlds
from ...envs.sql.queries.change_tree import InsertValues, ParentValue, UpdateRows
from ...envs.sql.queries.change_witnesses import ChangeRunner, choose_focuses
from ...rewards.verifiers.sql import round_floats
from .labels import LabelledQuery

_SEED = 2_000_000
_END = ";\n"
_OTHERS = {exp.GT: (exp.GTE, exp.LT), exp.GTE: (exp.GT,), exp.LT: (exp.LTE, exp.GT), exp.LTE: (exp.LT,)}
_OTHERS |= {exp.EQ: (exp.NEQ,), exp.NEQ: (exp.EQ,), exp.Add: (exp.Sub,), exp.Sub: (exp.Add,), exp.Mul: (exp.Add,)}


def label_changes(known: Any, contents: int, undecided: Counter[str]) -> Iterator[LabelledQuery]:
    """Yield the scripts made from the right one, with labels; see `labels.label_queries`."""
    change, schema = known.change, known.schema
    gold = change.statements
    right = dict((_END.join(statements), made) for made, statements in _right_variants(change, gold, schema))
    wrong = dict((_END.join(statements), made) for made, statements in _wrong_variants(gold, schema))
    for text in (_END.join(gold), *right):
        wrong.pop(text, None)
    differs = _find_differences(known, gold, [*right, *wrong], contents)
    for text, made in right.items():
        assert text not in differs, f"the rewriting {made!r} changes the result: {text}"
        yield LabelledQuery(made, text, True)
    for text, made in wrong.items():
        if text in differs:
            yield LabelledQuery(made, text, False)
        else:
            undecided[made] += 1


def _find_differences(known: Any, gold: Sequence[str], texts: Collection[str], contents: int) -> set[str]:
    """Find the scripts that fail, or leave another state than the right one, on one of many contents."""
    schema: Schema = known.schema
    rng = np.random.default_rng(_SEED)
    focuses = choose_focuses(known.change, schema)
    first = draw_rows(schema, rng)
    differs: set[str] = set()
    with contextlib.closing(ChangeRunner(schema, first)) as runner:
        for place in range(contents):
            if place:
                rows = draw_rows(schema, rng)
                if place % 4:
                    rows |= draw_worlds(schema, rng, [focuses[place % len(focuses)]], rows, 1).rows(0)
                runner.load(rows)
            answer = runner.states(gold, schema.names)
            if answer is None:
                continue
            expected = [round_floats(rows) for rows in answer]
            for text in texts:
                if text not in differs:
                    found = runner.states(text.split(_END), schema.names)
                    if found is None or [round_floats(rows) for rows in found] != expected:
                        differs.add(text)
    return differs


# Other ways to write a script.


def _right_variants(change: Any, gold: Sequence[str], schema: Schema) -> Iterator[tuple[str, list[str]]]:
    trees = [parse_one(one, read="sqlite") for one in gold]
    yield "statements written again", list(map(_write, trees))
    yield "comments", [f"-- step {place}; as asked\n{one}" for place, one in enumerate(gold)]
    yield "EXISTS for IN", [_write(tree.transform(_exists)) for tree in trees]
    yield "conditions in another order", [_write(tree.transform(_turn)) for tree in trees]
    yield "comparisons flipped", [_write(tree.transform(_flip)) for tree in trees]
    yield "CTE for IN", [_with_cte(tree) for tree in trees]
    yield "negated CASE", [_write(tree.transform(_negate_case)) for tree in trees]
    found: list[str] = []
    for step in change.steps:
        found += _apart(step) or step.sql().split(_END)
    yield "rows one by one", found
    if any(isinstance(step, InsertValues) for step in change.steps):
        turned: list[str] = []
        for step in change.steps:
            turned += (_reversed(step) if isinstance(step, InsertValues) else step.sql()).split(_END)
        yield "columns and rows in another order", turned
    joined: list[str] = []
    for step in change.steps:
        joined += _update_from(step, schema) or step.sql().split(_END)
    yield "UPDATE FROM", joined


def _exists(node: Any) -> Any:
    query = node.args.get("query") if isinstance(node, exp.In) else None
    if query is None or isinstance(node.parent, exp.Not):
        return node
    select = query.this if isinstance(query, exp.Subquery) else query
    owner = node.find_ancestor(exp.Update, exp.Delete, exp.Select)
    table = _table_of(owner)
    name = select.expressions[0].alias_or_name
    column = (
        f"chosen.{name} = {table}.{node.this.name}" if not node.this.table else f"chosen.{name} = {node.this.sql()}"
    )
    return parse_one(f"EXISTS (SELECT 1 FROM ({select.sql('sqlite')}) AS chosen WHERE {column})", read="sqlite")


def _table_of(owner: Any) -> str:
    return owner.args["from_"].this.name if isinstance(owner, exp.Select) else owner.this.name


def _with_cte(tree: Any) -> str:
    where = tree.args.get("where")
    condition = where.this if where else None
    text = _write(tree)
    if isinstance(tree, (exp.Update, exp.Delete)) and isinstance(condition, exp.In) and condition.args.get("query"):
        inner = condition.args["query"].sql("sqlite")
        inner = inner[1:-1] if inner.startswith("(") else inner
        name = condition.this.name
        rest = tree.copy()
        rest.set("where", None)
        return f"WITH chosen (one) AS ({inner}) {_write(rest)} WHERE {name} IN (SELECT one FROM chosen)"
    return text


def _turn(node: Any) -> Any:
    if isinstance(node, exp.And):
        return exp.And(this=node.expression.copy(), expression=node.this.copy())
    return node


def _flip(node: Any) -> Any:
    sides = {exp.GT: exp.LT, exp.GTE: exp.LTE, exp.LT: exp.GT, exp.LTE: exp.GTE}
    if type(node) in sides and isinstance(node.expression, exp.Literal):
        return sides[type(node)](this=node.expression.copy(), expression=node.this.copy())
    return node


def _negate_case(node: Any) -> Any:
    if not isinstance(node, exp.Case):
        return node
    first = node.args["ifs"][0]
    condition, value, other = (one.sql("sqlite") for one in (first.this, first.args["true"], node.args["default"]))
    return parse_one(f"CASE WHEN NOT COALESCE({condition}, FALSE) THEN {other} ELSE {value} END", read="sqlite")


def _apart(step: Any) -> list[str]:
    """Write rows one by one; rows stored by key as an update, and an insert if there is none."""
    if not isinstance(step, InsertValues):
        return []
    found = []
    row: tuple[Any, ...]
    for row in step.rows:
        one = InsertValues(step.table, step.columns, (row,))
        if not step.updated:
            found.append(one.sql())
            continue
        texts = list(map(format_literal, row))
        sets = ", ".join(f"{name} = {text}" for name, text in zip(step.columns[1:], texts[1:]))
        key = f"{step.columns[0]} = {texts[0]}"
        found.append(f"UPDATE {step.table} SET {sets} WHERE {key}")
        chosen = f"SELECT {', '.join(texts)} WHERE NOT EXISTS (SELECT 1 FROM {step.table} WHERE {key})"
        found.append(f"INSERT INTO {step.table} ({', '.join(step.columns)}) {chosen}")
    return found


def _reversed(step: InsertValues) -> str:
    order = [0, *range(len(step.columns) - 1, 0, -1)]
    rows = tuple(tuple(row[place] for place in order) for row in reversed(step.rows))
    return InsertValues(step.table, tuple(step.columns[place] for place in order), rows, step.updated).sql()


def _update_from(step: Any, schema: Schema) -> list[str]:
    """Write an update with a parent's value as a join, if all rows have a parent."""
    is_update = isinstance(step, UpdateRows) and len(step.sets) == 1
    if not is_update or not isinstance(step.sets[0].value, ParentValue):
        return []
    (one,) = step.sets
    value: Any = one.value
    parent, link = value.column, value.reference
    if schema[link.table][link.name].nullable and link not in [join.other for join in step.rows.joins]:
        return []
    joint = f"source.{parent.table}_id = {link.sql()} AND {step.rows.columns[0].sql()} IN ({step.rows.sql()})"
    sets = f"UPDATE {link.table} SET {one.column.name} = source.{parent.name}"
    return [f"{sets} FROM {parent.table} AS source WHERE {joint}"]


# Scripts with one mistake.


def _wrong_variants(gold: Sequence[str], schema: Schema) -> Iterator[tuple[str, list[str]]]:
    for place, text in enumerate(gold):
        before, after = list(gold[:place]), list(gold[place + 1 :])
        if len(gold) > 1:
            yield "statement left out", [*before, *after]
        yield "statement twice", [*before, text, text, *after]
        for made, changed in _wrong_statements(text, schema):
            yield made, [*before, changed, *after]
    if len(gold) > 1:
        yield "statements in another order", list(reversed(gold))


def _wrong_statements(text: str, schema: Schema) -> Iterator[tuple[str, str]]:
    tree = parse_one(text, read="sqlite")
    for place, node in enumerate(list(tree.walk())):

        def change(make: Any, place: int = place) -> str:
            copied = tree.copy()
            old = list(copied.walk())[place]
            old.replace(make(old))
            return _write(copied)

        is_set = isinstance(node, exp.EQ) and isinstance(node.parent, (exp.Update, exp.Join, exp.OnConflict))
        if type(node) in _OTHERS and not is_set:
            for kind in _OTHERS[type(node)]:
                made = lambda old, kind=kind: kind(this=old.this.copy(), expression=old.expression.copy())  # noqa: E731
                yield "operator", change(made)
        if isinstance(node, exp.And):
            yield "condition left out", change(lambda old: old.this.copy())
            yield "condition left out", change(lambda old: old.expression.copy())
            yield (
                "OR for AND",
                change(lambda old: exp.paren(exp.or_(old.this.copy(), old.expression.copy(), wrap=False))),
            )
        if isinstance(node, exp.Where):
            copied = tree.copy()
            owner: Any = list(copied.walk())[place].parent
            owner.set("where", None)
            yield "WHERE left out", _write(copied)
        if isinstance(node, exp.Literal):
            for other in _other_literals(node):
                yield "value", change(lambda old, other=other: other)
            yield "NULL for a value", change(lambda old: exp.null())
        if isinstance(node, exp.Null) and not isinstance(node.parent, exp.Is):
            yield "value for NULL", change(lambda old: exp.Literal.number(0))
        if isinstance(node, exp.Is):
            yield "IS NULL negated", change(lambda old: exp.Not(this=old.copy()))
        if isinstance(node, exp.In):
            yield "IN negated", change(lambda old: exp.Not(this=old.copy()))
            if len(node.expressions) > 1:
                yield "value left out", change(_shorten_list)
        if isinstance(node, exp.Column) and not isinstance(node.parent, exp.Join):
            for other in _other_columns(node, tree, schema):
                yield "column", change(lambda old, other=other: exp.column(other, old.table or None))
        if isinstance(node, exp.AggFunc) and not isinstance(node, exp.Count):
            for kind in (exp.Sum, exp.Min, exp.Max, exp.Avg):
                if not isinstance(node, kind):
                    yield "aggregate", change(lambda old, kind=kind: kind(this=old.this.copy()))
    if isinstance(tree, exp.Update) and len(tree.expressions) > 1:
        for place in range(len(tree.expressions)):
            copied = tree.copy()
            copied.set("expressions", [one for at, one in enumerate(copied.expressions) if at != place])
            yield "column left out", _write(copied)
    values = tree.find(exp.Values)
    if values is not None and len(values.expressions) > 1:
        for place in range(len(values.expressions)):
            copied = tree.copy()
            inner: Any = copied.find(exp.Values)
            inner.set("expressions", [one for at, one in enumerate(inner.expressions) if at != place])
            yield "row left out", _write(copied)
    if isinstance(tree, exp.Insert) and tree.args.get("conflict"):
        copied = tree.copy()
        copied.set("conflict", None)
        yield "ON CONFLICT left out", _write(copied)
        yield "OR IGNORE", _write(copied).replace("INSERT INTO", "INSERT OR IGNORE INTO")


def _either(node: Any) -> Any:
    return exp.paren(exp.Or(this=node.this.copy(), expression=node.expression.copy()))


def _shorten_list(node: Any) -> Any:
    copied = node.copy()
    copied.set("expressions", copied.expressions[1:])
    return copied


def _other_literals(node: Any) -> list[Any]:
    if not node.is_string:
        number = float(node.this) if "." in node.this else int(node.this)
        return [exp.Literal.number(number + 1), exp.Literal.number(number - 1)]
    with contextlib.suppress(ValueError):
        day = datetime.date.fromisoformat(node.this) + datetime.timedelta(days=1)
        return [exp.Literal.string(str(day))]
    return [exp.Literal.string(f"{node.this[:-1]}x" if "%" not in node.this else f"%{node.this}")]


def _other_columns(node: Any, tree: Any, schema: Schema) -> list[str]:
    owner = node.find_ancestor(exp.Update, exp.Delete, exp.Select)
    table = node.table or (_table_of(owner) if owner else "")
    if table not in schema.names:
        return []
    fields = {one.name: one.kind for one in schema[table].fields}
    return [name for name, kind in fields.items() if name != node.name and kind == fields.get(node.name)]


def _write(tree: Any) -> str:
    return tree.sql(dialect="sqlite")
