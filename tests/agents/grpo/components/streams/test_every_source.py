"""Every source against numbers worked out by hand."""

from __future__ import annotations

import json

import pytest
from palaestra.agents.grpo.recipes.stages import SOURCES

from .supplies import play, supply, tasks


@pytest.mark.parametrize("name", list(SOURCES))
def test_a_resumed_source_draws_the_same(name):
    one, other = SOURCES[name](), SOURCES[name]()
    one.prepare(supply(0))
    for step in range(1, 6):
        one.draw(supply(step, tasks(step, step + 1, 3), play_teacher=play))
    other.load_state_dict(json.loads(json.dumps(one.state_dict())))
    for step in range(6, 9):
        assert one.draw(supply(step, tasks(3, step), play_teacher=play)) == other.draw(
            supply(step, tasks(3, step), play_teacher=play)
        )
    assert one.state_dict() == other.state_dict()
