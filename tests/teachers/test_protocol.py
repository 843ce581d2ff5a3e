from __future__ import annotations

import numpy as np
import pytest
from palaestra.teachers.protocol import restored


@pytest.mark.parametrize("saved", [[1, 2], [[1, 2, 3]], [1, 2, float("nan")], [1, 2, float("inf")], [1, 2, "x"], None])
def test_saved_numbers_come_back_in_their_own_shape_and_type_or_not_at_all(saved):
    whole = restored([1, 2, 3], np.zeros(3, dtype=np.int64))
    assert (whole.tolist(), whole.dtype) == ([1, 2, 3], np.int64)
    with pytest.raises((ValueError, TypeError)):
        restored(saved, np.zeros(3))
