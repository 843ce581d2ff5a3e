"""Tables scored by the share of right cells."""

from __future__ import annotations

import pytest
from palaestra.rewards import verify

ZEBRA = {"house 1": {"colour": "red", "pet": "dog"}, "house 2": {"colour": "blue", "pet": "cat"}}


@pytest.mark.parametrize("k", range(5))
def test_k_of_n_cells(k: int):
    values = ["red", "dog", "blue", "cat"]
    a, b, c, d = [value if place < k else "none" for place, value in enumerate(values)]
    text = f'{{"house 1": {{"colour": "{a}", "pet": "{b}"}}, "house 2": {{"colour": "{c}", "pet": "{d}"}}}}'
    verdict = verify("cells", text, ZEBRA)
    assert (verdict.score, verdict.success) == (k / 4, k == 4)


def test_cells_are_compared_without_case_and_found_by_their_place():
    assert verify("cells", '```json\n[["RED", " dog "], [1]]\n```', [["red", "dog"], [1]]).success
    assert not verify("cells", '["RED"]', ["red"], ignore_case=False).success
    assert verify("cells", '["dog", "red"]', ["red", "dog"]).score == 0.0


def test_cells_that_are_too_many_cost():
    # 2 right cells of 4 given
    verdict = verify("cells", '["a", "b", "c", "d"]', ["a", "b"])
    assert (verdict.score, verdict.success) == (0.5, False)


def test_an_empty_row_counts_as_a_cell():
    # 2 right cells of 3 given, though the third holds nothing
    verdict = verify("cells", '[["a"], ["b"], []]', [["a"], ["b"]])
    assert (verdict.score, verdict.success) == (pytest.approx(2 / 3), False)
    assert verify("cells", '[["a"], {}]', [["a"], []]).score == 0.5
    assert verify("cells", '[["a"], []]', [["a"], []]).success
