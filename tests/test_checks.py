from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from palaestra.checks import check_choice, check_count, check_number, check_numbers, check_share
from palaestra.errors import InputError


def test_a_number_in_its_range_is_returned_as_a_float():
    assert check_number("x", 2, 0, 2) == 2.0
    assert isinstance(check_number("x", 2), float)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, True, "1", None, 3, -1])
def test_another_number_is_refused_with_its_range(wrong: Any):
    with pytest.raises(InputError, match="x must be a"):
        check_number("x", wrong, 0.0, 2.0)


def test_a_whole_number_beyond_every_float_is_refused():
    with pytest.raises(InputError, match="x must be a finite"):
        check_number("x", 10**5000)


def test_the_message_states_value_and_remedy():
    with pytest.raises(InputError, match=r"x must be a number in \[0, 2\], not 3"):
        check_number("x", 3, 0.0, 2.0)
    with pytest.raises(InputError, match="at least 1, not 0"):
        check_number("x", 0, low=1.0)
    with pytest.raises(InputError, match=r"at least 1 \(tokens\), not 0.5"):
        check_count("x", 0.5, low=1, unit="tokens")


@pytest.mark.parametrize("wrong", [0, True, 1.0, "1", None])
def test_a_count_is_a_whole_number_from_its_lowest(wrong: Any):
    assert check_count("x", 1, low=1) == 1
    with pytest.raises(InputError):
        check_count("x", wrong, low=1)


def test_a_choice_is_one_of_the_names():
    assert check_choice("mode", "max", ("max", "exact")) == "max"
    with pytest.raises(InputError, match="'exact'"):
        check_choice("mode", "exakt", ("max", "exact"))


@pytest.mark.parametrize("wrong", ["c", "", None, [], "ab"])
def test_another_choice_is_refused_whatever_its_type(wrong: Any):
    with pytest.raises(InputError, match="mode:"):
        check_choice("mode", wrong, ("a", "b"))


@pytest.mark.parametrize("wrong", [0, -1.5, math.nan, math.inf, "much"])
def test_a_number_above_a_bound_excludes_the_bound(wrong: Any):
    assert check_number("tau", 0.5, above=0) == 0.5
    with pytest.raises(InputError, match="tau must be a finite number above 0"):
        check_number("tau", wrong, above=0)


def test_a_share_may_have_to_be_positive():
    assert check_share("x", 0) == 0.0
    assert check_share("x", 1, positive=True) == 1.0
    with pytest.raises(InputError, match="above 0 and at most 1, not 0"):
        check_share("x", 0, positive=True)
    with pytest.raises(InputError, match=r"in \[0, 1\], not 2"):
        check_share("x", 2)


def test_numbers_of_numpy_are_numbers():
    assert check_number("x", np.float32(0.5)) == 0.5
    assert check_count("n", np.int64(3), low=1) == 3
    assert isinstance(check_count("n", np.int64(3)), int)


@pytest.mark.parametrize("wrong", [[1.0, math.nan], [math.inf], ["x"], None, 3, [10**400]])
def test_a_sequence_of_numbers_holds_finite_ones_only(wrong: Any):
    assert check_numbers("returns", [1, 0.5]) == (1.0, 0.5)
    with pytest.raises(InputError, match="returns"):
        check_numbers("returns", wrong)
