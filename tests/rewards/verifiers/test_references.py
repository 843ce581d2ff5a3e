"""References that a verifier cannot use are counted and shown before a run."""

from __future__ import annotations

import warnings

import pytest
from palaestra.errors import InputError
from palaestra.rewards import check_references, unreadable

ANSWERS = ["1/2", "9 (apples)", r"\sum_{k} k", "x^2", "No idea, honestly."]


def test_unreadable_references_are_counted_with_one_warning_that_shows_the_first():
    sentence = r"^The verifier 'math' cannot read 3 of 5 references.*number 2, '9 \(apples\)': .*'apples'"
    with pytest.warns(UserWarning, match=sentence) as caught:
        found = check_references("math", ANSWERS)
    assert len(caught) == 1
    assert [position for position, _, _ in found.unreadable] == [1, 2, 4]
    assert found.readable_share == pytest.approx(0.4)


def test_a_policy_reads_more():
    found = check_references("math", ANSWERS, warn=False, policy="dataset")
    assert [reference for _, reference, _ in found.unreadable] == [ANSWERS[2], ANSWERS[4]]


def test_where_all_can_be_read_nothing_is_said():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = check_references("choice", ["A", "(C)", "A, C"])
    assert (found.total, found.unreadable, found.readable_share) == (3, (), 1.0)
    assert "all of 3" in str(found)


def test_references_of_other_kinds_are_checked_likewise():
    assert unreadable("number", 5) is None
    assert "number verifier" in (unreadable("number", "five") or "")
    assert unreadable("json", {"a": [1]}) is None
    assert unreadable("choice", "which?") is not None


def test_an_unknown_kind_is_the_callers_error():
    with pytest.raises(InputError, match="verifier"):
        check_references("maths", ["1"])
