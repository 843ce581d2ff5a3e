"""The first word of an answer."""

from __future__ import annotations

from palaestra.rewards import verify


def test_only_the_first_word_counts_and_as_a_whole():
    for text in ("Berlin", " berlin.", "**Berlin**, because", "berlin\nparis"):
        assert verify("first-word", text, "Berlin").success
    for text in ("Paris Berlin", "Berliner", "Ber lin", "not Berlin", "Berlin-Mitte"):
        assert not verify("first-word", text, "Berlin").success
    assert verify("first-word", "...", "Berlin").malformed
    assert not verify("first-word", "berlin", "Berlin", ignore_case=False).success
