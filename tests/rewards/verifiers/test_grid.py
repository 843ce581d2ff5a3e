"""Grids of integers: two notations, exact in size and content."""

from __future__ import annotations

import pytest
from palaestra.rewards import verify


def test_a_grid_larger_by_a_row_is_not_exact_though_the_overlap_matches():
    verdict = verify("grid", "[[1, 2], [3, 4], [0, 0]]", [[1, 2], [3, 4]])
    # 4 of 6 cells
    assert (verdict.score, verdict.success) == (pytest.approx(4 / 6), False)
    # the padding itself never counts as equal: 1 of 3
    assert verify("grid", "[[1, 2]]", [[1], [2]]).score == pytest.approx(1 / 3)
    # nor does a cell that is -1 match what is not there
    assert not verify("grid", "[[1, 2], [-1, -1]]", [[1, 2]]).success


def test_the_two_ways_to_write_a_grid():
    for text in ("[[1,2],[3,4]]", "1 2\n3 4", "1, 2\n3, 4\n", "```\n1 2\n3 4\n```"):
        assert verify("grid", text, [[1, 2], [3, 4]]).success
    assert verify("grid", "[[1,2],[3,5]]", [[1, 2], [3, 4]]).score == 0.75


@pytest.mark.parametrize(
    "text", ["", "[[1,2],[3]]", "[]", "[[]]", "[[true]]", "[[1.0]]", "1 2\n3", "a b", "[1, 2]", "١"]
)
def test_what_is_no_grid_is_malformed(text: str):
    assert verify("grid", text, [[1, 2], [3, 4]]).malformed
