"""Differences of judged rows, by hand."""

from __future__ import annotations

import types
from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from palaestra.envs.web.tasks.template import differences

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
