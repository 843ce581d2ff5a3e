"""What is checked at the door of every teacher: options and saved numbers."""

from __future__ import annotations

import re

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers.protocol import one_of, positive, restored


@pytest.mark.parametrize("value", [0, -1.5, float("nan"), float("inf"), "much"])
def test_a_positive_number_is_finite_and_above_zero(value):
    assert positive("tau", 0.5) == 0.5
    with pytest.raises(InputError, match="tau"):
        positive("tau", value)


@pytest.mark.parametrize("value", ["c", "", None, [], "ab"])
def test_a_choice_is_one_of_the_names(value):
    assert one_of("mode", "b", ("a", "b")) == "b"
    with pytest.raises(InputError, match=re.escape(f"mode={value!r} must be one of 'a', 'b'.")):
        one_of("mode", value, ("a", "b"))


@pytest.mark.parametrize("saved", [[1, 2], [[1, 2, 3]], [1, 2, float("nan")], [1, 2, float("inf")], [1, 2, "x"], None])
def test_saved_numbers_come_back_in_their_own_shape_and_type_or_not_at_all(saved):
    whole = restored([1, 2, 3], np.zeros(3, dtype=np.int64))
    assert (whole.tolist(), whole.dtype) == ([1, 2, 3], np.int64)
    with pytest.raises((ValueError, TypeError)):
        restored(saved, np.zeros(3))
