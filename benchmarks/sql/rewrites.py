"""Rewritings of a right query: some with the same result on all databases, others with one mistake.

Both are made with sqlglot from the text of the query. The code is independent of the near misses for which the
databases of a task are chosen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import sqlglot
from sqlglot import exp

_FLIPPED = {exp.GT: exp.LT, exp.LT: exp.GT, exp.GTE: exp.LTE, exp.LTE: exp.GTE, exp.EQ: exp.EQ, exp.NEQ: exp.NEQ}
_OPPOSITE = {exp.GT: exp.LTE, exp.LT: exp.GTE, exp.GTE: exp.LT, exp.LTE: exp.GT}


def write(tree: Any, **options: Any) -> str:
    return tree.sql(dialect="sqlite", **options)


def equivalent_queries(gold: str, ordered: bool) -> Iterator[tuple[str, str]]:
    """Yield (name, query) for each rewriting that changes the text but not the result. ``ordered``: True if the order
    of rows counts."""
    tree: Any = sqlglot.parse_one(gold, read="sqlite")
    yield "layout", f"-- the answer; as asked\n{write(tree, pretty=True)} ;"
    yield "capitals", re.sub(r"'[^']*'|[A-Z]{2,}", lambda one: one[0] if one[0][0] == "'" else one[0].lower(), gold)
    if not ordered:
        yield "common table expression", f"WITH answer AS ({gold}) SELECT * FROM answer"
        yield "derived table", f"SELECT * FROM ({gold}) AS answer"
    for name, change in (
        ("flipped comparison", _flip),
        ("negated opposite", _negate),
        ("between", _split_between),
        ("list of alternatives", _split_list),
        ("count of ones", _count_ones),
        ("sum over count", _divide_sum),
        ("join of all pairs", _cross_join),
    ):
        changed = write(tree.transform(change))
        if changed != write(tree):
            yield name, changed
    if ordered:
        yield from _other_sorts(tree)
    if isinstance(tree, exp.Select) and tree.args.get("distinct") and not ordered and not tree.args.get("group"):
        plain = tree.copy()
        plain.set("distinct", None)
        if not any(column.find(exp.Window) for column in plain.expressions):
            yield "group for distinct", write(plain.group_by(*[column.copy() for column in plain.expressions]))
    if isinstance(tree, exp.Union) and tree.args.get("distinct") and not ordered:
        yield "distinct of all", f"SELECT DISTINCT * FROM ({write(tree.left)} UNION ALL {write(tree.right)}) AS answer"


def _other_sorts(tree: Any) -> Iterator[tuple[str, str]]:
    """Yield queries that sort by column positions, by aliases, and in an outer query."""
    if isinstance(tree, exp.SetOperation):
        named = tree.copy()
        named.left.set("expressions", [exp.alias_(named.left.expressions[0], "c1")])
        named.args["order"].expressions[0].set("this", exp.column("c1"))
        yield "order by names", write(named)
        return
    columns, keys = list(tree.expressions), tree.args["order"].expressions
    places = {key: columns.index(key.this) + 1 for key in keys if key.this in columns}
    if places:
        placed, named = tree.copy(), tree.copy()
        for key, by_place, by_name in zip(keys, placed.args["order"].expressions, named.args["order"].expressions):
            if key in places:
                by_place.set("this", exp.Literal.number(places[key]))
                by_name.set("this", exp.column(f"c{places[key]}"))
        yield "order by places", write(placed)
        yield "order by names", _with_columns(named, _name("c", columns))
    if not tree.args.get("distinct"):
        inner = _without_tree(tree, "order", "limit")
        inner.set("expressions", [*_name("c", columns), *_name("k", [key.this for key in keys])])
        outer = exp.select(*[f"c{place + 1}" for place in range(len(columns))]).from_(inner.subquery("answer"))
        order = [
            exp.Ordered(this=exp.column(f"k{n}"), desc=key.args.get("desc")) for n, key in enumerate(keys, start=1)
        ]
        outer = outer.order_by(*order)
        outer.set("limit", tree.args.get("limit"))
        yield "order outside", write(outer)


def _name(letter: str, expressions: Any) -> list[Any]:
    return [exp.alias_(one.copy(), f"{letter}{place}") for place, one in enumerate(expressions, start=1)]


def wrong_queries(gold: str, first_rows: Any) -> Iterator[tuple[str, str]]:
    """Yield (name, query) for each single mistake; some of them change no result.

    Args:
        gold: the right query.
        first_rows: its result on the database that the prompt shows, which one mistake repeats.
    """
    tree: Any = sqlglot.parse_one(gold, read="sqlite")
    if first_rows and len(first_rows) <= 40:
        yield "memorised result", "VALUES " + ", ".join(f"({', '.join(map(_write_value, row))})" for row in first_rows)
    for place, node in enumerate(tree.find_all(exp.Literal)):
        if isinstance(node.parent, exp.Ordered):
            # The place of a column, as of set operations.
            continue
        if not node.is_string and not node.find_ancestor(exp.Limit, exp.Cast):
            yield "constant", _replace(tree, exp.Literal, place, _add_one)
        elif node.is_string and re.fullmatch(r"\d{4}-\d\d-\d\d", node.this):
            later = f"{int(node.this[:4]) + 1}{node.this[4:]}"
            yield "constant", _replace(tree, exp.Literal, place, lambda _, later=later: exp.Literal.string(later))
        elif node.is_string and node.this.endswith("%") and len(node.this) == 2:
            yield "pattern", _replace(tree, exp.Literal, place, lambda one: exp.Literal.string("%" + one.this))
    for place, node in enumerate(tree.find_all(exp.And)):
        if not node.find_ancestor(exp.Join):
            yield "or for and", _replace(tree, exp.And, place, _either)
    for kind in (exp.Count, exp.Sum, exp.Avg):
        for place, node in enumerate(tree.find_all(kind)):
            if not isinstance(node.parent, exp.Window):
                yield "aggregate of distinct", _replace(tree, kind, place, _take_distinct)
    select = tree if isinstance(tree, exp.Select) else None
    if select is not None:
        first = select.expressions[0]
        yield "further column", write(select.select(exp.Literal.number(1)))
        changed = {
            "text of the first column": exp.cast(first.copy(), "TEXT"),
            "rounded first column": exp.func("ROUND", first.copy(), dialect="sqlite"),
        }
        for name, column in changed.items():
            yield name, _with_columns(select, [column, *select.expressions[1:]])
        if not first.find(exp.AggFunc, exp.Window):
            present = exp.Not(this=exp.Is(this=first.copy(), expression=exp.Null()))
            yield "first column present", write(select.where(present))
        if select.args.get("group"):
            yield "group left out", _without(select, "group", "having", "order", "limit")
        if select.args.get("order"):
            yield "order left out", _without(select, "order")
        if len(select.expressions) > 1:
            yield "column left out", _with_columns(select, select.expressions[:-1])
        if select.args.get("limit"):
            yield "limit left out", _without(select, "limit")
            yield "offset", write(select.offset(1))
        else:
            yield "cut", write(select.limit(3))
    yield "doubled rows", f"SELECT * FROM ({gold}) UNION ALL SELECT * FROM ({gold})"
    yield "distinct rows", f"SELECT * FROM ({gold}) UNION SELECT * FROM ({gold})"


def _flip(node: Any) -> Any:
    if type(node) in _FLIPPED and not node.find_ancestor(exp.Join) and isinstance(node.expression, exp.Literal):
        return _FLIPPED[type(node)](this=node.expression, expression=node.this)
    return node


def _negate(node: Any) -> Any:
    if type(node) in _OPPOSITE:
        opposite = _OPPOSITE[type(node)](this=node.this, expression=node.expression)
        return exp.Not(this=exp.Paren(this=opposite))
    return node


def _split_between(node: Any) -> Any:
    if isinstance(node, exp.Between):
        low = exp.GTE(this=node.this.copy(), expression=node.args["low"])
        return exp.paren(exp.and_(low, exp.LTE(this=node.this.copy(), expression=node.args["high"])))
    return node


def _split_list(node: Any) -> Any:
    if isinstance(node, exp.In) and node.expressions:
        return exp.paren(exp.or_(*[exp.EQ(this=node.this.copy(), expression=one) for one in node.expressions]))
    return node


def _count_ones(node: Any) -> Any:
    return exp.Count(this=exp.Literal.number(1)) if isinstance(node, exp.Count) and node.find(exp.Star) else node


def _divide_sum(node: Any) -> Any:
    if isinstance(node, exp.Avg):
        total = exp.Mul(this=exp.Sum(this=node.this.copy()), expression=exp.Literal.number("1.0"))
        return exp.Paren(this=exp.Div(this=total, expression=exp.Count(this=node.this.copy()), typed=True))
    return node


def _cross_join(node: Any) -> Any:
    joins = node.args.get("joins") if isinstance(node, exp.Select) else None
    if not joins or any(join.side for join in joins):
        return node
    tables = [exp.Join(this=join.this, kind="CROSS") for join in joins]
    conditions = [join.args["on"] for join in joins]
    where = node.args.get("where")
    node.set("joins", tables)
    node.set("where", exp.Where(this=exp.and_(*conditions, *([where.this] if where else []))))
    return node


def _either(node: Any) -> Any:
    return exp.paren(exp.or_(node.this.copy(), node.expression.copy(), wrap=False))


def _take_distinct(node: Any) -> Any:
    if isinstance(node.this, (exp.Distinct, exp.Star)):
        return node
    return type(node)(this=exp.Distinct(expressions=[node.this.copy()]))


def _replace(tree: Any, kind: Any, place: int, change: Any) -> str:
    """Write the tree with the node of a kind at one place changed."""
    copied = tree.copy()
    node = list(copied.find_all(kind))[place]
    node.replace(change(node))
    return write(copied)


def _with_columns(select: Any, columns: Any) -> str:
    copied = select.copy()
    copied.set("expressions", [column.copy() for column in columns])
    return write(copied)


def _without(select: Any, *clauses: str) -> str:
    return write(_without_tree(select, *clauses))


def _without_tree(select: Any, *clauses: str) -> Any:
    copied = select.copy()
    for clause in clauses:
        copied.set(clause, None)
    return copied


def _add_one(number: Any) -> Any:
    return exp.Literal.number(float(number.this) + 1 if "." in number.this else int(number.this) + 1)


def _write_value(value: Any) -> str:
    return "NULL" if value is None else "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)
