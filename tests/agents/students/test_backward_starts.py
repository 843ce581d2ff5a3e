"""Starts that move back along solutions."""

from __future__ import annotations

import json

from palaestra.agents.students.backward_starts import BackwardStarts


def begun() -> BackwardStarts:
    starts = BackwardStarts(move=3, success=0.5, episodes=4, later=0.0, lag=2)
    starts.begin({7: [0, 1, 2, 3, 4, 5, 6, 7], 9: [1, 1]})
    return starts


def test_before_there_are_solutions_episodes_begin_anywhere():
    starts = BackwardStarts()
    assert starts.draw(0) is None
    starts.report(3, True, 0)
    assert starts.metrics() == {}


def test_episodes_begin_at_the_start_of_a_level_or_a_little_later_and_never_at_the_end():
    starts = begun()
    assert starts.starts == {7: 5, 9: 0}
    drawn = [starts.draw(seed) for seed in range(200)]
    ways = {level: {len(way) for which, way in drawn if which == level} for level in (7, 9)}
    assert ways == {7: {5, 6, 7}, 9: {0}}
    assert all(way == [0, 1, 2, 3, 4, 5, 6, 7][: len(way)] for which, way in drawn if which == 7)
    assert starts.draw(11) == starts.draw(11)


def test_a_start_moves_back_when_enough_of_the_latest_episodes_succeed():
    starts = begun()
    for success in (False, False, False, True):
        starts.report(7, success, starts.starts[7])
    assert starts.starts[7] == 5
    starts.report(7, True, starts.starts[7])  # two of the latest four
    assert starts.starts[7] == 2
    for _ in range(3):
        starts.report(7, True, starts.starts[7])
    assert starts.starts[7] == 2, "episodes from the earlier start count no more"
    starts.report(7, True, starts.starts[7])
    assert starts.starts[7] == 0
    assert starts.metrics() == {"start": 0.0}
    starts.report(7, True, starts.starts[7])
    starts.report(9, False, starts.starts[9])
    assert starts.metrics() == {"start": 0.0, "success_from_start": 0.5}


def test_saved_starts_go_on_alike():
    first, second = begun(), BackwardStarts(move=3, success=0.5, episodes=4, later=0.0, lag=2)
    first.report(7, True, 5)
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    for starts in (first, second):
        for success in (False, False, True):
            starts.report(7, success, starts.starts[7])
    assert first.state_dict() == second.state_dict()
    assert second.starts[7] == 2


def test_a_start_moves_forth_again_where_no_episode_succeeds_but_not_past_the_first():
    starts = begun()
    for _ in range(4):
        starts.report(7, True, 5)
    assert starts.starts[7] == 2
    for moved in (2, 2, 2, 5, 5, 5, 5, 5):
        starts.report(7, False, starts.starts[7])
        assert starts.starts[7] == moved
    for _ in range(8):
        starts.report(9, False, 0)
    assert starts.starts[9] == 0


def test_some_episodes_begin_later_which_move_nothing():
    starts = BackwardStarts(move=1, success=0.5, episodes=4, later=0.5)
    starts.begin({7: [0, 1, 2, 3, 4, 5, 6, 7]})
    starts.starts[7] = 2
    begun_at = [len(starts.draw(seed)[1]) for seed in range(400)]
    assert set(begun_at) == {2, 3, 4, 5, 6, 7}
    # Half of them anywhere: two thirds of these after 3.
    assert 0.25 < sum(begun > 3 for begun in begun_at) / 400 < 0.42
    for _ in range(4):
        starts.report(7, True, 4)
    assert starts.starts[7] == 2
    for _ in range(4):
        starts.report(7, True, 3)
    assert starts.starts[7] == 1


def test_an_episode_is_late_beyond_the_solution_and_the_lag_unless_it_began_with_the_level():
    starts = begun()
    # Three of eight actions are left, and two more are allowed.
    assert [starts.is_late(7, 5, actions) for actions in (4, 5)] == [False, True]
    assert not starts.is_late(9, 0, 99)
    assert not starts.is_late(3, 0, 99)
