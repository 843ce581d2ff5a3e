"""The protocol of outcomes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers import Outcome
from palaestra.teachers.protocol import restore_array


@pytest.mark.parametrize("saved", [[1, 2], [[1, 2, 3]], [1, 2, float("nan")], [1, 2, float("inf")], [1, 2, "x"], None])
def test_saved_numbers_come_back_in_their_own_shape_and_type_or_not_at_all(saved):
    whole = restore_array([1, 2, 3], np.zeros(3, dtype=np.int64))
    assert (whole.tolist(), whole.dtype) == ([1, 2, 3], np.int64)
    with pytest.raises((ValueError, TypeError)):
        restore_array(saved, np.zeros(3))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_no_return_cost_or_extra_may_be_nan_or_infinite(bad):
    with pytest.raises(InputError, match="not finite"):
        Outcome(0, 1, [0.5, bad])
    with pytest.raises(InputError, match="not finite"):
        Outcome(0, 1, [0.5], cost=bad)
    with pytest.raises(InputError, match="not finite"):
        Outcome(0, 1, [0.5], extras={"abs_adv": [bad]})


def test_successes_and_extras_have_one_value_per_return():
    with pytest.raises(InputError, match="2 returns but 1 values in successes"):
        Outcome(0, 1, [0.5, 0.5], successes=[True])
    with pytest.raises(InputError, match="extra 'abs_adv'"):
        Outcome(0, 1, [0.5], extras={"abs_adv": [1.0, 2.0]})


def test_arrays_are_taken_and_kept_as_plain_numbers():
    outcome = Outcome(0, 1, np.array([0.25, 1.0], np.float32), successes=np.array([False, True]))
    assert outcome.returns == (0.25, 1.0)
    assert outcome.successes == (False, True)
    assert type(outcome.returns[0]) is float


def test_a_return_that_is_no_sequence_of_numbers_is_refused():
    for bad in (0.5, ["high"], None):
        with pytest.raises(InputError, match="sequence of numbers"):
            Outcome(0, 1, bad)
