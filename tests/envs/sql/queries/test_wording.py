"""Questions: each says what decides the answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from palaestra.envs.code.programs.dice import Dice
from palaestra.envs.sql.queries.query_steps import write_steps
from palaestra.envs.sql.queries.query_tree import (
    AggregateOf,
    ColumnName,
    Compare,
    IsAmong,
    IsMissing,
    JoinTo,
    SelectQuery,
    SetQuery,
)
from palaestra.envs.sql.queries.wording import write_question

from .shop import COST, JOIN, NAME, PRICE, QUERY, SCHEMA


class First(Dice):
    """Always the first wording."""

    def one(self, items):
        return items[0]


def ask(query, style="phrases"):
    return write_question(query, SCHEMA, style, First(np.random.default_rng(0)))


def test_a_question_for_rows_names_columns_conditions_ties_and_rows_without_partner():
    assert ask(QUERY) == (
        "For every sale whose price is more than 3.5, give its price and its store's name. Do not remove duplicate "
        "rows. Leave out sales without any store. Sort by the price (ascending), then by the id (descending). "
        "Return only the first 2 rows."
    )
    assert ask(replace(QUERY, joins=(replace(JOIN, kind="LEFT"),), order=(), limit=None), "names") == (
        "For every row of sale where sale.price is more than 3.5, give sale.price and store.name. Do not remove "
        "duplicate rows. Include rows of sale where sale.store_id is NULL, with NULL as the store's values."
    )


def test_groups_say_that_null_is_one_and_which_are_kept():
    count = AggregateOf("COUNT")
    query = SelectQuery((COST, count), "sale", group=(COST,), having=(Compare(count, ">=", 2),))
    assert ask(query) == (
        "Group all sales by their unit cost. For each group, return the unit cost and the number of sales. "
        "NULL is a group of its own. Keep only groups for which the number of sales is at least 2."
    )


def test_children_are_counted_for_parents_without_any():
    key, reference = ColumnName("store", "store_id"), ColumnName("sale", "store_id")
    count = AggregateOf("COUNT", ColumnName("sale", "sale_id"))
    query = SelectQuery((key, count), "store", (JoinTo("LEFT", reference, key),), group=(key,))
    assert ask(query) == ("For every store, give its id and the number of its sales. Include those without any sale.")


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (Compare(COST, "<>", 2), "whose unit cost is known and not 2"),
        (Compare(PRICE, "<>", 2), "whose price is not 2"),
        (IsMissing(COST), "whose unit cost is missing (NULL)"),
        (Compare(ColumnName("sale", "sold_on"), ">=", "2022-05-03"), "whose sale date is on or after 2022-05-03"),
        (
            Compare(COST, "<", SelectQuery((AggregateOf("AVG", COST),), "sale", where=(IsMissing(COST, True),))),
            "whose unit cost is less than the average unit cost of all sales (only those whose unit cost is known "
            "(not NULL))",
        ),
    ],
)
def test_conditions_leave_no_doubt_about_null_and_bounds(condition, words):
    assert ask(SelectQuery((PRICE,), "sale", where=(condition,))).startswith(f"For every sale {words}, give its price.")


def test_the_guard_against_null_in_not_in_is_no_part_of_the_question_but_of_the_solution():
    reference = ColumnName("sale", "store_id")
    inner = SelectQuery((reference,), "sale", where=(IsMissing(reference, True), Compare(PRICE, ">", 2)))
    query = SelectQuery((NAME,), "store", where=(IsAmong(ColumnName("store", "store_id"), inner, True),))
    assert ask(query).startswith("For every store with no sale (only those whose price is more than 2), give its name.")
    assert "store_id IS NOT NULL" in "\n".join(write_steps(query))


def test_set_operations_say_what_they_keep():
    sides = [SelectQuery((PRICE,), "sale", where=(Compare(COST, ">", bound),)) for bound in (2, 3)]
    assert ask(SetQuery("EXCEPT", *sides)) == (
        "Give every value of price that occurs among sales whose unit cost is more than 2 but not among sales whose "
        "unit cost is more than 3. Return each value only once."
    )
