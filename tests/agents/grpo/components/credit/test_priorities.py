"""Priorities against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest
import torch
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.components.credit.priorities import PrioritisedTerms, priority, split_outcome

from ...conftest import group, trajectory  # isort: skip


def batch_of(*paid: tuple[float, float], **changes):
    """One episode for each (difficulty, reward)."""
    return collate([group(*(trajectory(r, [([5], [6, 7])], difficulty=d, **changes) for d, r in paid))])


def test_a_history_in_numbers():
    # Mean 2; later half 3: change 1. Deviation 1. Together 2 over a level of 2.
    assert priority([1.0, 1.0, 3.0, 3.0]) == pytest.approx(1.0)
    # The same up and down: the halves agree, the deviation is 1 over 2.
    assert priority([1.0, 3.0, 1.0, 3.0]) == pytest.approx(0.5)
    assert priority([0.7, 0.7, 0.7]) == pytest.approx(0.0)
    assert priority([0.0, 0.0]) == 0.0
    assert math.isnan(priority([1.0]))


def test_the_terms_of_an_episode_add_up_to_its_outcome():
    made = trajectory(1.0, [([5], [6]), ([7], [8])], shaping={"length": -0.25})
    first, last = made.turns
    named = last.__class__(**{**vars(last), "reward": 1.0, "reward_terms": {"correct": 0.75}})
    made = made.__class__(**{**vars(made), "turns": (first, named)})
    assert split_outcome(made) == {"shaping/length": -0.25, "correct": 0.75, "environment": 0.25}
    assert sum(split_outcome(made).values()) == made.outcome
    replaced = made.__class__(**{**vars(made), "replaced": True})
    assert sum(split_outcome(replaced).values()) == replaced.outcome == -0.25


def test_a_settled_term_counts_less_in_the_return():
    returns = PrioritisedTerms()
    for won, short in ((1.0, 0.5), (3.0, 0.5)):
        rows = [trajectory(won, [([5], [6])], shaping={"short": short}), trajectory(won, [([5], [6])])]
        batch = collate([group(*rows)])
        units = returns(batch)
    # "environment" has priority (1 + 1) / 2 = 1 and "shaping/short" 0 (it is 0.25 in the mean, twice).
    weights = [2 * math.exp(s) / (1 + math.e) for s in (1.0, 0.0)]
    assert units.value.tolist() == pytest.approx([3 * weights[0] + 0.5 * weights[1], 3 * weights[0]])


def test_one_term_alone_is_the_outcome():
    returns = PrioritisedTerms()
    for paid in (0.3, 0.9, 0.1):
        batch = batch_of((0.1, paid), (0.1, 1.0))
        assert torch.equal(returns(batch).value, batch.outcome)
