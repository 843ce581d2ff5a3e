"""Segments against numbers worked out by hand."""

from __future__ import annotations

import pytest
import torch
from palaestra.agents.grpo.batch.segments import (
    Segments,
    number_combinations,
    prefix_mean,
    segment_max,
    segment_min,
    segment_places,
    segment_starts,
    suffix_sum,
)


def test_the_mean_over_a_prefix_is_taken_within_each_episode():
    value, episode = torch.tensor([1.0, 3.0, 8.0, -2.0, 0.0]), torch.tensor([0, 0, 1, 2, 2])
    assert prefix_mean(value, episode).tolist() == [1.0, 2.0, 8.0, -2.0, -1.0]
    assert prefix_mean(value[:0], episode[:0]).tolist() == []


def test_suffix_sums_stop_at_segments():
    value, segment = torch.tensor([1.0, 2, 4, 8]), torch.tensor([0, 0, 1, 1])
    assert suffix_sum(value, segment).tolist() == [3, 2, 12, 8]
    assert suffix_sum(value, segment, 0.5).tolist() == [2, 2, 8, 8]


def test_pairs_are_within_segments_of_counted_items_with_different_ranks():
    rank = torch.tensor([1.0, 0.0, 0.5, 0.0, 0.0, 1.0])
    of = torch.tensor([0, 0, 0, 1, 1, 2])
    higher, lower = Segments(of, 3).pairs(rank)
    assert list(zip(higher.tolist(), lower.tolist(), strict=True)) == [(0, 1), (0, 2), (2, 1)]
    counted = torch.tensor([True, False, True, True, True, True])
    assert Segments(of, 3, counted).pairs(rank)[0].tolist() == [0]


def test_the_mean_of_a_segment_is_over_its_counted_items():
    value = torch.tensor([1.0, 3.0, 8.0, 5.0])
    segments = Segments(torch.tensor([0, 0, 2, 2]), 3, torch.tensor([True, True, False, True]))
    assert segments.sum(value).tolist() == [4.0, 0.0, 5.0]
    assert segments.mean(value).tolist() == [2.0, 0.0, 5.0]
    assert segments.shared_mean(value).tolist() == [2.0, 2.0, 5.0, 5.0]
    assert segments.shared_size(value).tolist() == [2.0, 2.0, 1.0, 1.0]


def test_the_deviation_of_a_segment_of_one_is_zero():
    segments = Segments(torch.tensor([0, 1, 1]), 2)
    assert segments.shared_std(torch.tensor([7.0, 1.0, 3.0]), 1).tolist() == pytest.approx([0.0, 2**0.5, 2**0.5])


def test_extremes_and_first_items_of_segments_in_any_order():
    value, of = torch.tensor([2.0, 5.0, 1.0]), torch.tensor([1, 0, 1])
    assert segment_max(value, of, 3).tolist() == [5.0, 2.0, float("-inf")]
    assert segment_min(value, of, 3).tolist() == [5.0, 1.0, float("inf")]
    assert Segments(of, 3).first().tolist() == [True, True, False]


def test_places_and_starts_of_contiguous_segments():
    segment = torch.tensor([0, 0, 2, 2, 2, 5])
    assert segment_starts(segment).tolist() == [True, False, True, False, False, True]
    assert segment_places(segment).tolist() == [0, 1, 0, 1, 2, 0]


def test_combinations_of_keys_are_numbered_from_zero():
    assert number_combinations(torch.tensor([3, 3, 1]), torch.tensor([0, 1, 0])).tolist() == [1, 2, 0]
