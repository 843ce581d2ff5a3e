"""Mixing against numbers worked out by hand."""

from __future__ import annotations

from collections import Counter

from palaestra.agents.grpo.components.replay.mixing import MixPolicy, Priority

from .conftest import make_groups, rng  # isort: skip


def test_with_probability_zero_and_one_update_a_batch_is_its_own():
    replay = MixPolicy(probability=0.0, utd=1)
    for step in range(1, 4):
        assert replay.mix(make_groups(step, groups=3), step, rng(step)) == make_groups(step, groups=3)


def test_updates_to_data_multiply_the_batch():
    replay = MixPolicy(probability=0.0, utd=2)
    assert replay.mix(make_groups(1, groups=3), 1, rng()) == make_groups(1, groups=3) * 2


def test_the_first_batch_has_nothing_to_replay():
    assert MixPolicy(probability=1.0, utd=1).mix(make_groups(1), 1, rng()) == make_groups(1)


def test_replayed_groups_come_from_the_last_two_batches_alike():
    replay = MixPolicy(probability=1.0, window=2, utd=1)
    for step in (1, 2, 3):
        replay.mix(make_groups(step, groups=500), step, rng(step))
    sources = Counter(g.trajectories[0].version for g in replay.mix(make_groups(4, groups=500), 4, rng()))
    assert set(sources) == {2, 3}
    assert abs(sources[2] - 250) < 60


def test_two_in_five_places_are_replayed():
    replay = MixPolicy(probability=0.4, utd=1)
    replay.mix(make_groups(1, groups=1000), 1, rng(1))
    old = sum(g.trajectories[0].version == 1 for g in replay.mix(make_groups(2, groups=1000), 2, rng()))
    assert 340 < old < 460


def test_priority_is_the_step_less_two_for_each_use():
    replay = Priority(ratio=1.0)
    taken = []
    for step in (1, 2, 3, 3, 3):  # nothing fresh is played after the first two
        fresh = make_groups(step) if step < 3 else make_groups(step, ())
        taken += [g.trajectories[0].version for g in replay.mix(fresh, step, rng())[1:]]
    # Step 2 takes 1, whose priority falls to 1 - 2. Then 2 leads with 2, falls to 0, still leads, falls to -2; then 1.
    assert taken == [1, 2, 2, 1]


def test_what_was_used_three_times_is_forgotten():
    replay = Priority(ratio=1.0)
    replay.mix(make_groups(1), 1, rng())
    only = make_groups(0, rewards=())
    assert [len(replay.mix(only, step, rng())) for step in range(2, 6)] == [2, 2, 2, 1]


def test_an_often_used_new_group_yields_to_an_unused_old_one():
    replay = Priority(ratio=1.0, decay=2.0)
    replay.mix(make_groups(1, groups=2), 1, rng())
    nothing = make_groups(0, rewards=())
    first = replay.mix(nothing, 2, rng())[1].proposal
    second = replay.mix(nothing, 2, rng())[1].proposal
    assert {first, second} == {100, 101}
