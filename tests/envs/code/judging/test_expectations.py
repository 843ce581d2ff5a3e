"""Expectations of values and of printed text: agreement with the judges of the data sets, in bounded time."""

from __future__ import annotations

import time
from typing import Any

import pytest
from palaestra.envs.code.judging.assertions import read_assertions
from palaestra.envs.code.judging.expectations import Expectation, is_same_text, meets_expectation


def test_a_set_of_numbers_with_one_hash_is_compared_in_bounded_time():
    (test,) = read_assertions("assert set(f(1)) == {1, 2}", "f")
    clashing = [1, 2, *(number * (2**61 - 1) for number in range(200_000))]
    began = time.process_time()
    assert not meets_expectation(test.expected, clashing)
    assert time.process_time() - began < 1.0


def test_feedback_names_the_expected_value_in_words():
    said = {
        "assert f(1) == [2]": "[2]",
        "assert f(1)": "something true",
        "assert not f(1)": "something false",
        "assert f(1) in [1, 2]": "one of [1, 2]",
        "assert abs(f(1) - 0.5) < 1e-6": "about 0.5",
        "assert sorted(f(1)) == [1]": "[1] after sorted",
        "assert len(list(f(1))) == 1": "1 after list after len",
        "assert round(f(1), 2) == 1.5": "1.5 after round",
    }
    assert {source: repr(read_assertions(source, "f")[0].expected) for source in said} == said
    assert repr(Expectation([[5], 5], "either")) == "[5]"


@pytest.mark.parametrize(
    ("expected", "received", "same"),
    [
        ("1 2\n3\n", "1 2\n3", True),
        ("1 2\n3\n", "1  2 \n3\n\n\n", True),
        ("1 2\n3\n", "1\n2 3\n", False),
        ("1\n", "1.0\n", True),
        ("100000\n", "1e5\n", True),
        ("1\n", "\n1\n", True),
        ("1\n", "1.1\n", False),
        ("007\n", "7\n", False),
        ("1000000007\n", "1000000008\n", False),
        ("0.5\n", "0.50000001\n", True),
        ("0.5\n", ".5\n", True),
        ("2.0\n", "2\n", True),
        ("0.5\n", "0.501\n", False),
        ("0.5\n", "nan\n", False),
        ("0.5\n", "half\n", False),
        ("1000.5\n", "1_000.5\n", False),
        ("YES\n", "yes\n", False),
        ("a\n\nb\n", "a\nb\n", False),
        ("", "\n", True),
        ("1\n", "", False),
        ("1\n", "1\n1\n", False),
    ],
)
def test_printed_text_is_the_same_but_for_blanks_and_last_digits(expected: str, received: str, same: bool):
    assert is_same_text(expected, received) is same
    assert meets_expectation(expected, received) is same


@pytest.mark.parametrize(
    ("expected", "received", "same"),
    [
        ([1, [2]], (1, (2,)), True),
        ({"1": [2]}, {1: (2,)}, True),
        (0.5, 0.5 + 1e-9, True),
        (2.0, 2, True),
        (2, 2.0, True),
        (2, 2.0000001, False),
        (True, 1, True),
        (1, True, True),
        (2, True, False),
        ("1", True, False),
        (True, True, True),
        ([1.0], [1.1], False),
        ([1], [1, 2], False),
        ("12", ["1", "2"], False),
        ({"a": 1}, {"b": 1}, False),
        (None, None, True),
        (0.5, 10**400, False),
        (0.5, "x", False),
        ([float("nan")], [float("nan")], True),
        (float("nan"), 0.0, False),
        (0.0, float("nan"), False),
    ],
)
def test_values_are_alike_as_json(expected: Any, received: Any, same: bool):
    assert meets_expectation(Expectation(expected, "alike"), received) is same
    assert meets_expectation(Expectation([[expected], expected], "either"), received) is same
    assert meets_expectation(Expectation([[expected], expected], "either"), [received]) is same
