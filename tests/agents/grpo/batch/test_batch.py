"""Groups flattened into a batch."""

from __future__ import annotations

from dataclasses import replace

import pytest
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.trajectory import Turn
from palaestra.agents.grpo.components.reductions import sequence_mean

from ..conftest import group, trajectory  # isort: skip


def test_a_context_that_begins_anew_makes_a_row_of_the_same_episode():
    turns = (
        Turn((5, 6), (7,), (-1.0,), "stop", 0.0),
        Turn((8,), (9,), (-1.0,), "stop", 0.0),
        Turn((5, 8), (10,), (-1.0,), "stop", 1.0, fresh=True),
    )
    made = group(replace(trajectory(1, [([5], [6])]), turns=turns), trajectory(0, [([5], [9])]))
    batch = collate([made])
    assert (batch.rows, batch.episodes) == (3, 2)
    assert batch.position.tolist() == [0, 1, 2, 3, 4, 0, 1, 2, 0, 1]
    assert batch.episode_of_row.tolist() == [0, 0, 1]
    # One episode of three tokens, one of one: a mean over episodes does not care in how many contexts they lie.
    assert sequence_mean(batch, batch.action)[batch.action].tolist() == pytest.approx([1 / 6] * 3 + [1 / 2])
