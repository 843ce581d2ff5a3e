"""Proofs of equivalence: what each rule proves, and that nothing is proved of queries with different results."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import numpy as np
import pytest
from palaestra.envs.code.programs.dice import Dice
from palaestra.envs.sql.databases.contents import draw_rows, insert_rows, make_database
from palaestra.envs.sql.databases.relations import read_domain
from palaestra.envs.sql.databases.worlds import draw_worlds
from palaestra.envs.sql.queries.equivalence import normal_form
from palaestra.envs.sql.queries.near_misses import near_misses
from palaestra.envs.sql.queries.query_grammar import draw_query
from palaestra.envs.sql.queries.query_plans import draw_plan
from palaestra.envs.sql.queries.query_tree import (
    AggregateOf,
    ColumnName,
    Compare,
    EitherOf,
    IsMissing,
    JoinTo,
    OrderKey,
    Quotient,
    RankOver,
    RoundOf,
    SelectQuery,
    SetQuery,
    WholeOf,
    is_ordered_query,
)
from palaestra.envs.sql.queries.witnesses import choose_focus
from palaestra.rewards.verifiers.sql import round_floats, same_rows

from .shop import COST, NAME, PRICE, SCHEMA

KEY, SALE = ColumnName("store", "store_id"), ColumnName("sale", "sale_id")
AREA, REFERENCE, ROWS = ColumnName("store", "area"), ColumnName("sale", "store_id"), AggregateOf("COUNT")
OUTER, INNER = (JoinTo(kind, KEY, REFERENCE) for kind in ("LEFT", "INNER"))
CHILDREN = AggregateOf("COUNT", SALE)
SALES = SelectQuery((PRICE, NAME), "sale", (OUTER,))
STORES = SelectQuery((KEY, NAME, CHILDREN), "store", (JoinTo("LEFT", REFERENCE, KEY),), group=(KEY, NAME))


def with_joins(query, kind):
    return replace(query, joins=(replace(query.joins[0], kind=kind),))


def having(operator, value, counted=CHILDREN):
    return replace(STORES, having=(Compare(counted, operator, value),))


LARGE, SINGLE = replace(SALES, where=(Compare(AREA, ">", 3),)), having("=", 1)
TOTAL = SelectQuery((AggregateOf("SUM", AREA),), "sale", (OUTER,))
RANK = RankOver("RANK", PRICE, False, NAME)
ONE_NAME = SelectQuery((PRICE, RANK), "sale", (INNER,), (Compare(NAME, "=", "Harbour"),), order=(OrderKey(NAME),))
GREATEST = Compare(PRICE, "=", SelectQuery((AggregateOf("MAX", PRICE),), "sale"))
MEAN = AggregateOf("AVG", AREA)
SHARE = Quotient(replace(MEAN, function="SUM"), replace(MEAN, function="COUNT"))
BY_NAME = SelectQuery((NAME,), "store", group=(NAME,))
BOTH = SetQuery("INTERSECT", SelectQuery((NAME,), "sale", (OUTER,)), SelectQuery((NAME,), "sale", (INNER,)))


def beyond(operator, mean, column=AREA):
    inner = SelectQuery((mean,), column.table)
    return SelectQuery((column,), column.table, where=(Compare(column, operator, inner),))


def named(operator, mean, number):
    return replace(BY_NAME, having=(Compare(mean, operator, number),))


EQUIVALENT = {
    "condition on the joined table": (LARGE, with_joins(LARGE, "INNER")),
    "aggregate of the joined table": (TOTAL, with_joins(TOTAL, "INNER")),
    "condition on the children": (having(">", 1), with_joins(having(">", 1), "INNER")),
    "set operation without NULL": (BOTH, replace(BOTH, left=BOTH.right)),
    "dependent key": (STORES, replace(STORES, group=(KEY, AREA))),
    "count": (SelectQuery((ROWS,), "sale"), SelectQuery((AggregateOf("COUNT", PRICE),), "sale")),
    "at least one": (having("<", 3), having("<", 3, ROWS)),
    "single row": (
        replace(SINGLE, columns=(KEY, AggregateOf("SUM", COST))),
        replace(SINGLE, columns=(KEY, AggregateOf("AVG", COST, True))),
    ),
    "constant": (ONE_NAME, replace(ONE_NAME, columns=(PRICE, replace(RANK, partition=None)), order=())),
    "average": (beyond("<", MEAN), beyond("<", Quotient(SHARE.total, ROWS, True))),
    "whole numbers above an average": (beyond(">", MEAN), beyond(">", SHARE)),
    "whole numbers up to an average": (beyond("<=", MEAN), beyond("<=", WholeOf(MEAN))),
    "average of at least a whole number": (named(">=", MEAN, 3), named(">=", SHARE, 3)),
    "average below a whole number": (named("<", MEAN, 3), named("<", WholeOf(MEAN), 3)),
    "average of one": (
        replace(BY_NAME, columns=(NAME, MEAN), having=(Compare(ROWS, "=", 1),)),
        replace(BY_NAME, columns=(NAME, RoundOf(MEAN)), having=(Compare(ROWS, "=", 1),)),
    ),
    "extreme": (
        SelectQuery((PRICE,), "sale", where=(GREATEST,)),
        SelectQuery((PRICE,), "sale", where=(replace(GREATEST, operator=">="),)),
    ),
}
DIFFERENT = {
    "condition that NULL meets": (
        replace(SALES, where=(EitherOf(Compare(AREA, ">", 3), Compare(PRICE, ">", 3)),)),
        replace(SALES, joins=(INNER,), where=(EitherOf(Compare(AREA, ">", 3), Compare(PRICE, ">", 3)),)),
    ),
    "missing partner": (
        replace(SALES, where=(IsMissing(NAME),)),
        replace(SALES, joins=(INNER,), where=(IsMissing(NAME),)),
    ),
    "rows counted": (replace(TOTAL, columns=(ROWS,)), replace(TOTAL, columns=(ROWS,), joins=(INNER,))),
    "children or none": (having("=", 1), having("=", 1, ROWS)),
    "count of a nullable column": (SelectQuery((ROWS,), "sale"), SelectQuery((AggregateOf("COUNT", COST),), "sale")),
    "greatest of some": (
        SelectQuery((PRICE,), "sale", where=(replace(GREATEST, operator="<="),)),
        SelectQuery((PRICE,), "sale", where=(GREATEST,)),
    ),
    "average with NULL as 0": (
        beyond(">", AggregateOf("AVG", COST), COST),
        beyond(">", Quotient(AggregateOf("SUM", COST), ROWS, True), COST),
    ),
    "whole numbers of at least an average": (beyond(">=", MEAN), beyond(">=", SHARE)),
    "whole numbers below an average": (beyond("<", MEAN), beyond("<", WholeOf(MEAN))),
    "whole numbers above a rounded average": (beyond(">", MEAN), beyond(">", RoundOf(MEAN))),
    "average above a whole number": (named(">", MEAN, 3), named(">", SHARE, 3)),
    "average of at least a fraction": (named(">=", MEAN, 3.5), named(">=", WholeOf(MEAN), 3.5)),
    "real numbers above an average": (
        beyond(">", AggregateOf("AVG", COST), COST),
        beyond(">", WholeOf(AggregateOf("AVG", COST)), COST),
    ),
    "set operation with NULL in the second column": (
        SetQuery("INTERSECT", replace(SALES, columns=(PRICE, NAME)), replace(SALES, columns=(PRICE, NAME))),
        SetQuery("INTERSECT", replace(SALES, columns=(PRICE, NAME)), with_joins(SALES, "INNER")),
    ),
    "union": (replace(BOTH, operator="UNION"), replace(BOTH, operator="UNION", left=BOTH.right)),
}


@pytest.mark.parametrize("name", EQUIVALENT)
def test_a_rule_proves_what_it_says(name):
    one, other = EQUIVALENT[name]
    assert one != other
    assert normal_form(one, SCHEMA) == normal_form(other, SCHEMA)


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_differs_is_not_proved_equal(name):
    one, other = DIFFERENT[name]
    assert normal_form(one, SCHEMA) != normal_form(other, SCHEMA)


def results_differ(query, others, schema, seeds):
    """Return the texts among ``others`` that have another result than the query on contents of some seed."""
    found, ordered = set(), is_ordered_query(query)
    focuses = choose_focus(query, schema)
    with contextlib.closing(make_database(schema, draw_rows(schema, 0))) as connection:
        for seed in seeds:
            rows = draw_rows(schema, seed)
            if seed % 4:
                focus = focuses[seed % len(focuses)]
                rows |= draw_worlds(schema, np.random.default_rng(seed), [focus], rows, 1).rows(0)
            insert_rows(connection, schema, rows)
            right = round_floats(connection.execute(query.sql()).fetchall())
            for other in others:
                if not same_rows(round_floats(connection.execute(other).fetchall()), right, ordered):
                    found.add(other)
    return found


def test_results_bear_out_both_lists():
    for one, other in EQUIVALENT.values():
        assert not results_differ(one, [other.sql()], SCHEMA, range(40))
    for one, other in DIFFERENT.values():
        assert results_differ(one, [other.sql()], SCHEMA, range(40))


def test_what_is_proved_of_drawn_queries_holds_on_contents():
    proved = 0
    for seed in range(60):
        dice = Dice(np.random.default_rng(seed))
        plan = draw_plan(dice, 1 + seed % 2, 1, 1)
        query = draw_query(dice, plan, draw_rows(plan.schema, seed), 1 + seed % 4, seed % 2)
        if query is not None:
            normal = normal_form(query, plan.schema)
            same = [one.sql() for _, one in near_misses(query, plan.schema) if normal_form(one, plan.schema) == normal]
            proved += len(same)
            assert not results_differ(query, same, plan.schema, range(20)), query.sql()
    assert proved > 10


def test_a_nullable_key_is_not_what_makes_a_row():
    schema = read_domain("x", ("a | a | as", "    n int 1 9 1 | n", "b | b | bs | a?", "    m? int 1 9 1 | m"))
    count = SelectQuery((AggregateOf("COUNT", ColumnName("b", "m")),), "b")
    assert normal_form(count, schema) != normal_form(replace(count, columns=(ROWS,)), schema)
