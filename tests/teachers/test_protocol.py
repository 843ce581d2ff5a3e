from __future__ import annotations

import numpy as np
import pytest
from palaestra.teachers.protocol import restore_array


@pytest.mark.parametrize("saved", [[1, 2], [[1, 2, 3]], [1, 2, float("nan")], [1, 2, float("inf")], [1, 2, "x"], None])
def test_saved_numbers_come_back_in_their_own_shape_and_type_or_not_at_all(saved):
    whole = restore_array([1, 2, 3], np.zeros(3, dtype=np.int64))
    assert (whole.tolist(), whole.dtype) == ([1, 2, 3], np.int64)
    with pytest.raises((ValueError, TypeError)):
        restore_array(saved, np.zeros(3))
