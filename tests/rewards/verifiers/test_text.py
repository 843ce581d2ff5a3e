"""Text compared after normalisation."""

from __future__ import annotations

from palaestra.rewards import verify


def test_text_can_be_held_to_its_case():
    assert verify("text", "ab", "AB").success
    assert not verify("text", "ab", "AB", ignore_case=False).success
