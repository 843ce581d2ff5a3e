"""The labelled sheet, what is measured over it, and how our own verifiers do: the figures that the project promises."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from palaestra.errors import InputError
from palaestra.rewards import VERIFIERS
from palaestra.rewards.audit import sheet
from palaestra.rewards.audit.restated_rows import restate_rows
from palaestra.rewards.audit.sheet import Row, measure_grader

ROWS = sheet.load_rows()


def test_it_has_at_least_eight_hundred_rows_of_which_five_hundred_are_mathematics():
    assert len(ROWS) >= 800
    assert sum(row.kind == "math" for row in ROWS) >= 500


def test_every_verifier_has_right_and_wrong_rows():
    for kind in VERIFIERS:
        assert {row.label for row in ROWS if row.kind == kind} == {True, False}, kind


def test_no_row_is_there_twice():
    keys = [json.dumps([row.kind, row.given, row.reference, dict(row.options)], sort_keys=True) for row in ROWS]
    assert len(set(keys)) == len(keys)


def test_no_answer_is_both_right_and_wrong_once_it_is_written_out():
    labels: dict[Any, bool] = {}
    for row in ROWS:
        key = (row.kind, row.answer, json.dumps([row.reference, dict(row.options)], sort_keys=True))
        assert labels.setdefault(key, row.label) == row.label, str(row)


@pytest.mark.parametrize(
    "family",
    [
        *("integer", "fraction", "mixed number", "rounding", "percent", "scientific", "separators", "unit", "currency"),
        *("interval", "set", "tuple", "matrix", "equation", "inequality", "polynomial", "rational", "radical", "sign"),
        *("trigonometry", "logarithm", "exponential", "several answers", "words", "complex", "degrees", "variable"),
        *("injection", "unevaluated", "hostile size", "unicode", "constant answer", "near miss"),
    ],
)
def test_every_family_of_mathematics_is_there(family: str):
    assert sum(row.kind == "math" and row.family == family for row in ROWS) >= 5


@pytest.mark.parametrize("kind", [kind for kind in sheet.kinds() if kind in VERIFIERS])
def test_no_wrong_answer_is_accepted_and_at_most_one_right_one_in_a_hundred_refused(kind: str):
    result = measure_grader(sheet.grade, sheet.load_rows(kind))
    assert not result.errors
    assert [str(row) for row in result.false_positives] == []
    assert result.missed_share <= 0.01, [str(row) for row in result.failures]


def row(answer: Any, label: bool) -> Row:
    return Row("text", answer, "x", label, "made up")


def test_a_long_answer_is_written_out():
    assert row({"repeat": ["ab", 3], "before": "<", "after": ">"}, True).answer == "<ababab>"
    assert row("x", True).answer == "x"


def test_measuring_counts_what_a_grader_gets_wrong():
    replies: dict[str, Any] = {"yes": True, "no": False, "dunno": None}

    def grader(one: Row) -> bool | None:
        if one.answer == "late":
            raise TimeoutError
        return replies[one.answer]

    rows = [row(answer, label) for answer in ("yes", "no", "dunno", "late", "boom") for label in (True, False)]
    result = measure_grader(grader, rows)
    assert (result.rows, result.right) == (10, 5)
    assert [(one.answer, one.label) for one in result.false_positives] == [("yes", False)]
    assert [(one.answer, one.label) for one in result.false_negatives] == [("no", True)]
    assert [one.answer for one in result.undecided] == ["dunno", "dunno", "late", "late"]
    assert [(one.answer, error) for one, error in result.errors] == [("boom", "KeyError: 'boom'")] * 2
    assert result.false_positive_share == 1 / 5
    # of five right answers only "yes" was accepted
    assert result.missed_share == 4 / 5
    assert len(result.failures) == 8
    both = result + result
    assert (both.rows, both.right, len(both.failures), both.missed_share) == (20, 10, 16, 4 / 5)


def test_times_are_quantiles_of_the_rows_and_late_ones_are_named():
    ticks = iter([0.0, 1.0, 1.0, 3.0, 3.0, 6.0, 6.0, 7.1])
    result = measure_grader(
        lambda one: True, [row(str(n), True) for n in range(4)], deadline=1.0, clock=lambda: next(ticks)
    )
    assert result.seconds == pytest.approx((1.0, 2.0, 3.0, 1.1))
    assert (result.p50, result.p99, result.worst) == pytest.approx((1.1, 3.0, 3.0))
    # a tenth over the deadline is not late
    assert [one.answer for one in result.over_deadline] == ["1", "2"]


def test_rows_are_reported_as_they_are_done():
    seen: list[Row] = []
    measure_grader(lambda one: True, ROWS[:3], after=seen.append)
    assert seen == ROWS[:3]


def test_a_row_prints_short():
    assert len(str(row({"repeat": ["9", 10**6]}, False))) < 200


def test_an_unknown_sheet_names_the_nearest():
    with pytest.raises(InputError, match="'math'"):
        sheet.load_rows("maths")


def test_the_verdict_stays_when_a_row_is_said_in_other_words():
    """Names of variables, the order of sums and products, delimiters and signs of powers: a share of the sheet."""
    rows = random.Random(0).sample([row for row in ROWS if row.kind == "math"], 150)
    anew = list(restate_rows(row for row in rows if row.label == sheet.grade(row)))
    assert {row.family for row in anew} == {"names", "order", "delimiters", "powers"}
    result = measure_grader(sheet.grade, anew)
    assert result.failures == ()


def test_a_row_is_said_anew_with_the_same_names_on_both_sides():
    names = [row for row in restate_rows([Row("math", "2ab + 1", "1 + 2ab", True, "made up")]) if row.family == "names"]
    (found,) = names
    assert found.answer != "2ab + 1"
    assert sorted(found.answer.replace(" ", "")) == sorted(found.reference.replace(" ", ""))
    assert not list(restate_rows([row("x", True)]))
