"""Cells of a cube."""

from __future__ import annotations

import numpy as np
import pytest
from palaestra.teachers.expected_gain.cells import cut_cells


def test_a_step_is_cut_where_it_is_and_nothing_else_is():
    points = np.random.default_rng(0).random((400, 6))
    cells = cut_cells(points, (points[:, 2] > 0.3).astype(float))
    assert len(cells.low) == 2
    assert sorted(cells.high[:, 2]) == [pytest.approx(0.3, abs=0.02), 1.0]
    assert (np.delete(cells.low, 2, axis=1) == 0).all()
    assert (np.delete(cells.high, 2, axis=1) == 1).all()


def test_cells_tile_the_cube_and_hold_their_points():
    rng = np.random.default_rng(1)
    points = rng.random((500, 2))
    cells = cut_cells(points, ((points * 4).astype(int).sum(1) % 3) / 2)
    assert len(cells.low) >= 16
    assert cells.volume.sum() == pytest.approx(1.0)
    assert (cells.low[cells.index] <= points).all()
    assert (points <= cells.high[cells.index]).all()
    assert np.bincount(cells.index).min() >= 4


def test_noise_is_hardly_cut():
    rng = np.random.default_rng(2)
    counts = [len(cut_cells(rng.random((300, 3)), rng.random(300)).low) for _ in range(20)]
    assert np.mean(counts) < 2


@pytest.mark.parametrize("points", [np.full((50, 2), 0.5), np.repeat([[0.25], [0.75]], 25, axis=0)])
def test_equal_points_cannot_be_parted(points):
    returns = 0.002 * np.arange(50) + points[:, 0]  # in the order in which a stable sort leaves equal coordinates
    cells = cut_cells(points, returns)
    assert len(cells.low) == len(np.unique(points, axis=0))
