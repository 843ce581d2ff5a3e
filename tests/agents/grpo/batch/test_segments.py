"""Segments against numbers worked out by hand."""

from __future__ import annotations

import torch
from palaestra.agents.grpo.batch.segments import prefix_mean, suffix_sum


def test_the_mean_over_a_prefix_is_taken_within_each_episode():
    value, episode = torch.tensor([1.0, 3.0, 8.0, -2.0, 0.0]), torch.tensor([0, 0, 1, 2, 2])
    assert prefix_mean(value, episode).tolist() == [1.0, 2.0, 8.0, -2.0, -1.0]
    assert prefix_mean(value[:0], episode[:0]).tolist() == []


def test_suffix_sums_stop_at_segments():
    value, segment = torch.tensor([1.0, 2, 4, 8]), torch.tensor([0, 0, 1, 1])
    assert suffix_sum(value, segment).tolist() == [3, 2, 12, 8]
    assert suffix_sum(value, segment, 0.5).tolist() == [2, 2, 8, 8]
