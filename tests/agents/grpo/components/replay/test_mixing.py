"""Mixing against numbers worked out by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
from palaestra.agents.grpo.batch.trajectory import Group
from palaestra.agents.grpo.components.replay.mixing import MixPolicy, Priority

from ...conftest import group, trajectory  # isort: skip


def played(step: int, rewards=(1.0, 0.0), task="t", lengths=None, logp=-1.0, groups=1) -> list[Group]:
    """Fresh groups of a step; the number of a group tells step and place."""
    lengths = lengths or [2] * len(rewards)
    members = [
        trajectory(r, [([1], [2 + i] * n)], [[logp] * n], task_id=task, version=step)
        for i, (r, n) in enumerate(zip(rewards, lengths, strict=True))
    ]
    return [group(*members, proposal=100 * step + place) for place in range(groups)]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_with_probability_zero_and_one_update_a_batch_is_its_own():
    replay = MixPolicy(probability=0.0, utd=1)
    for step in range(1, 4):
        assert replay.mix(played(step, groups=3), step, rng(step)) == played(step, groups=3)


def test_updates_to_data_multiply_the_batch():
    replay = MixPolicy(probability=0.0, utd=2)
    assert replay.mix(played(1, groups=3), 1, rng()) == played(1, groups=3) * 2


def test_the_first_batch_has_nothing_to_replay():
    assert MixPolicy(probability=1.0, utd=1).mix(played(1), 1, rng()) == played(1)


def test_replayed_groups_come_from_the_last_two_batches_alike():
    replay = MixPolicy(probability=1.0, window=2, utd=1)
    for step in (1, 2, 3):
        replay.mix(played(step, groups=500), step, rng(step))
    sources = Counter(g.trajectories[0].version for g in replay.mix(played(4, groups=500), 4, rng()))
    assert set(sources) == {2, 3}
    assert abs(sources[2] - 250) < 60


def test_two_in_five_places_are_replayed():
    replay = MixPolicy(probability=0.4, utd=1)
    replay.mix(played(1, groups=1000), 1, rng(1))
    old = sum(g.trajectories[0].version == 1 for g in replay.mix(played(2, groups=1000), 2, rng()))
    assert 340 < old < 460


def test_priority_is_the_step_less_two_for_each_use():
    replay = Priority(ratio=1.0)
    taken = []
    for step in (1, 2, 3, 3, 3):  # nothing fresh is played after the first two
        fresh = played(step) if step < 3 else played(step, ())
        taken += [g.trajectories[0].version for g in replay.mix(fresh, step, rng())[1:]]
    # Step 2 takes 1, whose priority falls to 1 - 2. Then 2 leads with 2, falls to 0, still leads, falls to -2; then 1.
    assert taken == [1, 2, 2, 1]


def test_what_was_used_three_times_is_forgotten():
    replay = Priority(ratio=1.0)
    replay.mix(played(1), 1, rng())
    only = played(0, rewards=())
    assert [len(replay.mix(only, step, rng())) for step in range(2, 6)] == [2, 2, 2, 1]


def test_an_often_used_new_group_yields_to_an_unused_old_one():
    replay = Priority(ratio=1.0, decay=2.0)
    replay.mix(played(1, groups=2), 1, rng())
    nothing = played(0, rewards=())
    first = replay.mix(nothing, 2, rng())[1].proposal
    second = replay.mix(nothing, 2, rng())[1].proposal
    assert {first, second} == {100, 101}
