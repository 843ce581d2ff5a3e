"""Contents that tell changes from their near misses, and the near misses that no contents can tell."""

from __future__ import annotations

import contextlib

from palaestra.envs.sql.databases.contents import draw_rows
from palaestra.envs.sql.queries.change_misses import change_misses
from palaestra.envs.sql.queries.change_tree import Change, DeleteRows, GivenValue, InsertValues, SetColumn, UpdateRows
from palaestra.envs.sql.queries.change_witnesses import ChangeRunner, find_change_witnesses
from palaestra.envs.sql.queries.query_tree import ColumnName, Compare, SelectQuery, replace

from .shop import COST, JOIN, NAME, PRICE, SCHEMA  # isort: skip

ROWS = draw_rows(SCHEMA, 3)
KEY, LINK, STORE = ColumnName("sale", "sale_id"), ColumnName("sale", "store_id"), ColumnName("store", "store_id")
DEAR = Compare(PRICE, ">", 4)
UPDATE = UpdateRows((SetColumn(COST, GivenValue(2.5)),), SelectQuery((KEY,), "sale", (), (DEAR,)))


def test_contents_tell_a_change_from_all_its_near_misses():
    joined = replace(UPDATE, rows=SelectQuery((KEY,), "sale", (JOIN,), (DEAR, Compare(NAME, "<>", "Hilltop"))))
    deleted = DeleteRows(SelectQuery((STORE,), "store", (), (Compare(NAME, "<>", "Hilltop"),)), (LINK,))
    for step in (UPDATE, joined, deleted):
        witnesses = find_change_witnesses(Change((step,)), SCHEMA, ROWS, 5)
        assert witnesses
        assert len(witnesses.expected) >= 2
        assert len(witnesses.near_misses) >= 10
        assert witnesses.survivors == ()


def test_near_misses_that_are_proved_equivalent_do_not_survive():
    # With a condition on the parent, an outer join finds the same rows.
    rows = SelectQuery((KEY,), "sale", (JOIN,), (DEAR, Compare(NAME, "<>", "West End")))
    change = Change((replace(UPDATE, rows=rows),))
    assert any("LEFT JOIN" in other.sql() for _, other in change_misses(change, SCHEMA))
    witnesses = find_change_witnesses(change, SCHEMA, ROWS, 5)
    assert witnesses
    assert not any("LEFT JOIN" in sql for _, sql in witnesses.survivors)


def test_a_change_that_fails_or_does_nothing_has_no_witnesses():
    twice = InsertValues("store", ("store_id", "name", "area"), ((1, "East", 3),))
    nothing = replace(UPDATE, rows=SelectQuery((KEY,), "sale", (), (Compare(PRICE, ">", 99),)))
    for step in (twice, nothing):
        assert find_change_witnesses(Change((step,)), SCHEMA, ROWS, 5) is None


def test_changes_are_tried_under_all_constraints_and_undone():
    with contextlib.closing(ChangeRunner(SCHEMA, ROWS)) as runner:
        before = runner.states((), SCHEMA.names)
        assert runner.states(["DELETE FROM sale"], ["sale"]) == [[]]
        for wrong in ("DELETE FROM store", "UPDATE sale SET price = NULL", "UPDATE sale SET store_id = 99"):
            assert runner.states([wrong], ["sale"]) is None, wrong
        assert runner.states((), SCHEMA.names) == before
        runner.load(draw_rows(SCHEMA, 4))
        assert runner.states((), SCHEMA.names) != before
