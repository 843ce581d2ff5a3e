"""Rewards of bandits, measured from returns."""

from __future__ import annotations

import math

import numpy as np
import pytest
from palaestra.teachers.arms.payoff import Payoff


def test_each_kind_of_reward_by_hand():
    returns = [np.array([0.0, 1.0, 0.0, 0.0]), np.array([1.0, 1.0, 0.0, 0.0]), np.array([0.0, 0.0, 0.0, 0.0])]
    rewards = {kind: [Payoff(kind, 8).of(0, r) for r in returns[:1]] for kind in ("advantage", "return")}
    assert rewards["advantage"] == pytest.approx([2 * math.sqrt(0.25 * 0.75)], abs=1e-5)
    assert rewards["return"] == [0.25]
    change, gain = Payoff("change", 8), Payoff("gain", 8)
    assert [change.of(0, r) for r in returns] == [None, 0.25, 0.5]
    assert [gain.of(0, r) for r in returns] == [None, 0.25, -0.5]
    assert change.of(1, returns[0]) is None  # another arm has no last return yet


def test_advantages_of_single_returns_wait_for_their_group():
    payoff = Payoff("advantage", 4)
    assert [payoff.of(0, np.array([r])) for r in (1.0, 0.0, 1.0)] == [None] * 3
    assert payoff.of(1, np.array([0.0])) is None
    assert payoff.of(0, np.array([0.0])) == pytest.approx(1.0, abs=1e-5)
