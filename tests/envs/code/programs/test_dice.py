"""Dice: draws that are taken ahead are those that the other methods would use."""

from __future__ import annotations

import numpy as np
import pytest
from palaestra.envs.code.programs.dice import Dice


@pytest.mark.parametrize("number", [0, 1, 127, 128, 129, 400])
def test_draws_taken_ahead_give_the_same_choices(number: int):
    plain, ahead = (Dice(np.random.default_rng(3)) for _ in range(2))
    assert plain.below(10) == ahead.below(10)
    later = Dice.with_draws(ahead.draws(number))
    assert [plain.below(1_000) for _ in range(number)] == [later.below(1_000) for _ in range(number)]
    assert [plain.below(1_000) for _ in range(9)] == [ahead.below(1_000) for _ in range(9)]
