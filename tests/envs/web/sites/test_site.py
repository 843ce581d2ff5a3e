"""What all sites share."""

from __future__ import annotations

import pytest
from palaestra.envs.web.sites.site import count_noun


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [(1, "reply", "1 reply"), (2, "reply", "2 replies"), (0, "vote", "0 votes"), (21, "day", "21 days")],
)
def test_nouns_agree_with_their_number(number: int, noun: str, text: str):
    assert count_noun(number, noun) == text
