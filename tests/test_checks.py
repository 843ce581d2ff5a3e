from __future__ import annotations

import math
from typing import Any

import pytest
from palaestra.checks import checked_choice, checked_count, checked_number
from palaestra.errors import InputError


def test_a_number_in_its_range_is_returned_as_a_float():
    assert checked_number("x", 2, 0, 2) == 2.0
    assert isinstance(checked_number("x", 2), float)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, True, "1", None, 3, -1])
def test_another_number_is_refused_with_its_range(wrong: Any):
    with pytest.raises(InputError, match="x must be a"):
        checked_number("x", wrong, 0.0, 2.0)


def test_a_whole_number_beyond_every_float_is_refused():
    with pytest.raises(InputError, match="x must be a finite"):
        checked_number("x", 10**5000)


def test_the_message_states_value_and_remedy():
    with pytest.raises(InputError, match=r"x must be a number in \[0, 2\], not 3"):
        checked_number("x", 3, 0.0, 2.0)
    with pytest.raises(InputError, match="at least 1, not 0"):
        checked_number("x", 0, low=1.0)
    with pytest.raises(InputError, match=r"at least 1 \(tokens\), not 0.5"):
        checked_count("x", 0.5, low=1, unit="tokens")


@pytest.mark.parametrize("wrong", [0, True, 1.0, "1", None])
def test_a_count_is_a_whole_number_from_its_lowest(wrong: Any):
    assert checked_count("x", 1, low=1) == 1
    with pytest.raises(InputError):
        checked_count("x", wrong, low=1)


def test_a_choice_is_one_of_the_names():
    assert checked_choice("mode", "max", ("max", "exact")) == "max"
    with pytest.raises(InputError, match="'exact'"):
        checked_choice("mode", "exakt", ("max", "exact"))
