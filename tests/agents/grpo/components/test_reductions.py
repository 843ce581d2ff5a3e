"""Reductions against numbers worked out by hand."""

from __future__ import annotations

import pytest
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.components.reductions import constant, delta_l, prompt_mean, turn_mean

from ..conftest import group, trajectory  # isort: skip


def batch_of(*outcomes_by_group, lengths=None):
    counts = iter(lengths or [1] * sum(map(len, outcomes_by_group)))
    return collate([group(*(trajectory(r, [([5], [6] * next(counts))]) for r in rs)) for rs in outcomes_by_group])


def test_every_prompt_counts_the_same():
    batch = batch_of([1, 0], [1], lengths=[1, 3, 2])
    assert prompt_mean(batch, batch.action)[batch.action].tolist() == pytest.approx([1 / 8] * 4 + [1 / 4] * 2)


def test_every_turn_of_an_episode_counts_the_same():
    rows = group(trajectory(1, [([5], [6]), ([5], [6, 6])]), trajectory(0, [([5], [6, 6])]))
    batch = collate([rows])
    got = turn_mean(batch, batch.action)[batch.action].tolist()
    assert got == pytest.approx([1 / 4, 1 / 8, 1 / 8, 1 / 4, 1 / 4])
    # a turn that is not trained leaves the mean over turns
    keep = batch.action & ~((batch.turn_of == 0) & batch.action)
    assert turn_mean(batch, keep)[keep].tolist() == pytest.approx([1 / 4] * 4)


def test_delta_l_weighs_by_the_inverse_length_and_is_the_constant_for_equal_lengths():
    batch = batch_of([1, 0], lengths=[1, 4])
    # 1 and 1/4 over 5/4, over the budget of 16
    got = delta_l(batch, batch.action)[batch.action].tolist()
    assert got == pytest.approx([0.8 / 16] + [0.2 / 16] * 4)
    same = batch_of([1, 0], lengths=[3, 3])
    assert delta_l(same, same.action).tolist() == pytest.approx(constant(same, same.action).tolist())
