"""Orderings scored by edit distance."""

from __future__ import annotations

import pytest
from palaestra.rewards import verify
from palaestra.rewards.verifiers.ordering import edit_distance


def test_an_ordering_is_scored_by_edit_distance():
    gold = ["a", "b", "c", "d"]
    assert verify("ordering", "a, b, c, d", gold).success
    # one missing: 1 edit of 4; two neighbours exchanged: 2 edits of 4; one too many: 1 edit of 5
    for text, score in (("a, c, d", 0.75), ("b, a, c, d", 0.5), ("a, b, x, c, d", 0.8), ("x", 0.0)):
        verdict = verify("ordering", text, gold)
        assert (verdict.score, verdict.success) == (pytest.approx(score), False)
    assert verify("ordering", ",".join(gold * 30), gold).score == 0.0


def test_edit_distance_by_hand():
    assert edit_distance("kitten", "sitting") == 3
    assert edit_distance("", "abc") == edit_distance("abc", "") == 3
