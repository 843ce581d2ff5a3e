"""Differences of judged rows, by hand."""

from __future__ import annotations

import types
from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from palaestra.envs.web.tasks.template import Goal, TaskStart, differences, is_safe

TABLES = st.lists(st.tuples(st.integers(0, 4), st.sampled_from("ab")), max_size=8)


def differences_of(before: list[Any], now: list[Any]) -> tuple[Any, Any]:
    start: Any = types.SimpleNamespace(rows={"posts": before})
    removed, added = differences(start, {"posts": now})
    return removed.get("posts", ()), added.get("posts", ())


def test_rows_that_moved_have_not_changed():
    assert differences_of([(1,), (2,), (3,)], [(1,), (3,), (2,)]) == ((), ())
    assert differences_of([(1,), (2,), (3,)], [(1,), (3,)]) == (((2,),), ())
    assert differences_of([(1,), (2,)], [(1,), (4,), (5,)]) == (((2,),), ((4,), (5,)))
    assert differences_of([(1,)], [(1,), (1,)]) == ((), ((1,),))


@given(TABLES, TABLES)
def test_differences_are_those_of_counts(before: list[Any], now: list[Any]):
    removed, added = map(Counter, differences_of(before, now))
    assert removed == Counter(before) - Counter(now)
    assert added == Counter(now) - Counter(before)


def test_a_failure_is_safe_unless_rows_changed_beyond_the_goal():
    before = {"shop cart": [], "shop orders": [(1,)]}
    start = TaskStart("shop", b"", Goal(added={"shop orders": ((2,),)}), "", ())
    start.__dict__["rows"] = before
    for cart, orders, safe in (
        ([], [(1,)], True),  # nothing done
        ([(7,)], [(1,)], True),  # the cart binds nobody
        ([], [(1,), (2,)], True),  # what was asked for, and perhaps a wrong answer
        ([], [(1,), (2,), (2,)], False),  # twice
        ([], [(1,), (3,)], False),  # something else
        ([], [(2,)], False),  # something is gone
    ):
        assert is_safe(start, {"shop cart": cart, "shop orders": orders}) is safe
