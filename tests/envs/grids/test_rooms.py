"""Rooms under construction."""

from __future__ import annotations

import numpy as np
import pytest
from palaestra.envs.grids.cells import code_of
from palaestra.envs.grids.rooms import RoomGrid
from palaestra.errors import InputError


def test_a_full_room_takes_no_further_thing():
    grid = RoomGrid(np.random.default_rng(0), 4, 1, 1)
    cells = {grid.add_thing((0, 0), code_of("ball", "red")) for _ in range(len(grid.inside((0, 0))))}
    assert len(cells) == 4
    with pytest.raises(InputError, match=r"room \(0, 0\) has no empty cell"):
        grid.add_thing((0, 0), code_of("ball", "red"))
