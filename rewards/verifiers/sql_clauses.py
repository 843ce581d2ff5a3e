"""Clause-wise similarity of queries: their sqlglot trees, compared clause by clause, without running them.

After the component matching of Spider (arXiv 1809.08887, Section 5). There each clause is a set of parts and must match
as a whole; here it counts by the Jaccard index of the two sets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from ...errors import InputError
from .sql_similarity import parse_query

CLAUSES = ("select", "from", "where", "group", "having", "order", "limit", "set")


def compare_clauses(predicted: str, gold: str, *, dialect: str = "sqlite") -> dict[str, float]:
    """Compute |P ∩ G| / |P ∪ G| of the multisets of parts, for each clause that occurs in either of two queries.

    The parts are the selected expressions and DISTINCT; tables, and joins with their conditions; the conditions of
    WHERE and HAVING, split at AND; the keys of GROUP BY; the keys of ORDER BY with position and direction; the numbers
    of LIMIT and OFFSET; and set operations, whose sides are compared in order. Case, aliases, qualifiers of columns,
    and the order of operands in comparisons, sums and the like do not count.

    Args:
        predicted: the query to score; untrusted.
        gold: the right query.
        dialect: a dialect of sqlglot.

    Returns:
        clause -> value in [0, 1]; empty if ``predicted`` cannot be parsed, is longer than 20,000 characters or nests
        more than 50 deep.

    Raises:
        InputError: the gold query cannot be parsed.
        MissingExtra: sqlglot is not installed.
    """
    theirs = parse_query(gold, dialect)
    if theirs is None:
        raise InputError(f"the gold query {gold[:100]!r} cannot be parsed.")
    ours = parse_query(predicted, dialect)
    if ours is None:
        return {}
    mine, right = _collect_parts(ours), _collect_parts(theirs)
    found = {}
    for clause in CLAUSES:
        either = mine[clause] | right[clause]
        if either:
            found[clause] = (mine[clause] & right[clause]).total() / either.total()
    return found


def clause_similarity(predicted: str, gold: str, *, dialect: str = "sqlite") -> float:
    """Return the mean of `compare_clauses`; 0 if the predicted query cannot be parsed."""
    values = compare_clauses(predicted, gold, dialect=dialect).values()
    return sum(values) / len(values) if values else 0.0


def _collect_parts(tree: Any) -> dict[str, Counter[Any]]:
    parts: dict[str, Counter[Any]] = {clause: Counter() for clause in CLAUSES}
    for side, select in enumerate(_list_sides(tree, parts)):
        for clause, part in _parts_of(select):
            parts[clause][side, part] += 1
    return parts


def _list_sides(tree: Any, parts: dict[str, Counter[Any]]) -> list[Any]:
    """List the queries under set operations. The operations, and the order of their results, are added to ``parts``."""
    from sqlglot import exp

    while isinstance(tree, exp.Subquery) and isinstance(tree.this, exp.Query):
        tree = tree.this
    if not isinstance(tree, exp.SetOperation):
        return [tree]
    parts["set"][f"{tree.key}{'' if tree.args.get('distinct', True) else ' all'}"] += 1
    for clause, part in _tail_of(tree):
        parts[clause][part] += 1
    return [*_list_sides(tree.this, parts), *_list_sides(tree.expression, parts)]


def _parts_of(select: Any) -> Iterator[tuple[str, Any]]:
    for column in select.expressions:
        yield "select", _write(column.unalias())
    if select.args.get("distinct"):
        yield "select", "distinct"
    source = select.args.get("from_") or select.args.get("from")
    if source is not None:
        yield "from", _write(source.this)
    for join in select.args.get("joins") or ():
        yield "from", _write(join.this)
        yield from (("from", (join.side, _write(part))) for part in _split(join.args.get("on")))
    for clause in ("where", "having"):
        found = select.args.get(clause)
        yield from ((clause, _write(part)) for part in _split(found and found.this))
    group = select.args.get("group")
    yield from (("group", _write(key)) for key in (group.expressions if group else ()))
    yield from _tail_of(select)


def _tail_of(query: Any) -> Iterator[tuple[str, Any]]:
    order = query.args.get("order")
    for place, key in enumerate(order.expressions if order else ()):
        yield "order", (place, _write(key.this), bool(key.args.get("desc")))
    for name in ("limit", "offset"):
        if found := query.args.get(name):
            yield "limit", (name, _write(found.expression))


def _split(condition: Any) -> Iterator[Any]:
    """Yield the conditions between AND."""
    from sqlglot import exp

    if condition is not None:
        condition = condition.unnest()
        yield from condition.flatten() if isinstance(condition, exp.And) else (condition,)


def _write(node: Any) -> str:
    """Write a part of a query in canonical form: names in lower case, without aliases and qualifiers, and the operands
    of commutative operators sorted."""
    from sqlglot import exp

    turned = {exp.GT: exp.LT, exp.GTE: exp.LTE}

    def tidy(part: Any) -> Any:
        if isinstance(part, exp.Paren):
            return part.this
        if isinstance(part, exp.Column):
            return exp.column(part.name.lower())
        if isinstance(part, exp.Table):
            return exp.to_identifier(part.name.lower())
        if isinstance(part, exp.TableAlias):
            return None
        if type(part) in turned:
            return turned[type(part)](this=part.expression, expression=part.this)
        if isinstance(part, (exp.EQ, exp.NEQ, exp.Add, exp.Mul, exp.And, exp.Or)):
            first, second = sorted((part.this, part.expression), key=lambda side: side.sql())
            return type(part)(this=first, expression=second)
        return part

    # From the leaves up, so that sides are compared as they will be written.
    root = node.copy()
    for part in reversed(list(root.walk())):
        changed = tidy(part)
        if changed is not part:
            if part is root:
                root = changed
            else:
                part.replace(changed)
    return root.sql(comments=False) if root is not None else ""
