"""Recompose against numbers worked out by hand."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from palaestra.agents.grpo.components.replay.recompose import Recompose
from palaestra.errors import InputError

from .conftest import make_groups, rng  # isort: skip


def test_short_successes_and_long_failures_come_first():
    replay = Recompose(share=0.5, probability=0.0)
    (first,) = replay.mix(make_groups(1, (1.0, 1.0, 0.0, 0.0), lengths=[5, 3, 2, 4]), 1, rng())
    assert [(t.success, t.action_tokens) for t in first.trajectories] == [(True, 3), (False, 4)]


def test_advantages_are_those_of_the_whole_group():
    replay = Recompose(share=0.5, probability=0.0, eps=0.0)
    (first,) = replay.mix(make_groups(1, (1.0, 1.0, 0.0, 0.0)), 1, rng())
    assert [t.advantage for t in first.trajectories] == pytest.approx([0.5 / math.sqrt(1 / 3), -0.5 / math.sqrt(1 / 3)])


def test_in_what_comes_first_length_and_advantage_go_against_each_other():
    draw, lengths, advantages = rng(), [], []
    for _ in range(20):
        rewards, drawn = [1.0] * 4 + [0.0] * 4, draw.permutation(np.arange(1, 9)).tolist()
        (first,) = Recompose(share=0.25, probability=0.0).mix(make_groups(1, rewards, lengths=drawn), 1, draw)
        short, long = first.trajectories
        assert (short.action_tokens, long.action_tokens) == (min(drawn[:4]), max(drawn[4:]))
        lengths += [short.action_tokens, long.action_tokens]
        advantages += [short.advantage, long.advantage]
    assert np.corrcoef(lengths, advantages)[0, 1] < -0.5


def test_an_all_correct_group_gives_short_episodes_without_advantage():
    (first,) = Recompose(probability=0.0).mix(make_groups(1, (1.0,) * 4, lengths=[4, 3, 2, 1]), 1, rng())
    assert [(t.action_tokens, t.advantage) for t in first.trajectories] == [(1, 0.0), (2, 0.0)]


def test_every_response_is_trained_at_most_once_and_the_oldest_first():
    replay, seen, waited = Recompose(probability=0.5, capacity=4), Counter(), []
    for step in range(1, 60):
        for mixed in replay.mix(make_groups(step, (1.0, 1.0, 0.0, 0.0)), step, rng(step)):
            seen.update((t.version, t.turns[0].act_ids) for t in mixed.trajectories)
            waited += [t.version for t in mixed.trajectories if t.version < step]
    assert max(seen.values()) == 1
    assert waited == sorted(waited)
    assert sum(seen.values()) >= 4 * 59 - 2 * 4


def test_a_full_queue_gives_its_oldest_part_whatever_the_chance():
    replay = Recompose(probability=0.0, capacity=1)
    assert len(replay.mix(make_groups(1, (1.0, 1.0)), 1, rng())) == 1
    assert [g.trajectories[0].version for g in replay.mix(make_groups(2, (1.0, 1.0)), 2, rng())] == [2, 1]


def test_a_share_of_nothing_is_refused():
    with pytest.raises(InputError, match="share must be a finite number above 0 and at most 1"):
        Recompose(share=0.0)
