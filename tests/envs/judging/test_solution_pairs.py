"""Right and spoilt solutions as texts for reward models."""

from __future__ import annotations

import pytest
from palaestra.envs.judging.flaws import FLAWS
from palaestra.envs.judging.solution_pairs import draw_pairs
from palaestra.errors import InputError


def test_pairs_have_every_kind_of_error_and_are_of_the_split():
    pairs = draw_pairs(60, of="palaestra/Arithmetic-v0", split="test", seed=3)
    assert pairs == draw_pairs(60, of="palaestra/Arithmetic-v0", split="test", seed=3)
    assert [pair.error for pair in pairs[:3]] == ["blatant", "slip", "subtle"]
    assert {pair.flaw for pair in pairs} <= {kind for kinds in FLAWS.values() for kind in kinds}
    assert all(pair.right != pair.wrong and "\nAnswer: " in pair.right for pair in pairs)
    others = {pair.question for pair in draw_pairs(60, of="palaestra/Arithmetic-v0", seed=3)}
    assert not others & {pair.question for pair in pairs}


def test_an_unknown_split_is_refused():
    with pytest.raises(InputError, match="split must be"):
        draw_pairs(1, split="dev")
