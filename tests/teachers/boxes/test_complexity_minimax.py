"""Minimax over classes of difficulty (arXiv 2010.15382)."""

from __future__ import annotations

import gymnasium as gym
import pytest
from palaestra.teachers import make


def minimax(returns, **options):
    teacher = make("complexity-minimax", gym.spaces.Discrete(len(returns)), **options)
    for level, ret in enumerate(returns):
        teacher.update(level, ret)
    return teacher


def test_a_gap_is_the_worst_loss_of_a_class_above_its_best():
    teacher = minimax([0.9, 0.4, 0.7], reference=[0.0, 0.5, 0.6])
    assert teacher.gaps() == pytest.approx([0.1, 0.1, 0.0])


def test_an_easy_and_a_hard_class_with_equal_gaps_weigh_the_same():
    teacher = minimax([0.8, 0.1], reference=[0.0, 0.7], temperature=0.01)  # losses 0.2 and 0.9, gaps 0.2
    assert teacher.distribution_of_levels() == pytest.approx([0.5, 0.5])
    assert minimax([0.8, 0.1], temperature=0.01).distribution_of_levels() == pytest.approx([0.0, 1.0])


def test_a_single_class_is_plain_minimax():
    assert minimax([0.3]).distribution_of_levels() == pytest.approx([1.0])
    teacher = minimax([0.9, 0.2, 0.8], reference=[0.0, 0.0, 0.0], temperature=0.02)
    assert teacher.distribution_of_levels() == pytest.approx([0.0, 1.0, 0.0], abs=1e-9)
