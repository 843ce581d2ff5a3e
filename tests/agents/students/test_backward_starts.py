"""Starts that move back along solutions."""

from __future__ import annotations

import json

from palaestra.agents.students.backward_starts import BackwardStarts


def begun() -> BackwardStarts:
    starts = BackwardStarts(move=3, success=0.5, episodes=4)
    starts.begin({7: [0, 1, 2, 3, 4, 5, 6, 7], 9: [1, 1]})
    return starts


def test_before_there_are_solutions_episodes_begin_anywhere():
    starts = BackwardStarts()
    assert starts.draw(0) is None
    starts.report(3, True)
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
        starts.report(7, success)
    assert starts.starts[7] == 5
    starts.report(7, True)  # two of the latest four
    assert starts.starts[7] == 2
    for _ in range(3):
        starts.report(7, True)
    assert starts.starts[7] == 2, "episodes from the earlier start count no more"
    starts.report(7, True)
    assert starts.starts[7] == 0
    assert starts.metrics() == {"start": 0.0}
    starts.report(7, True)
    starts.report(9, False)
    assert starts.metrics() == {"start": 0.0, "success_from_start": 0.5}


def test_saved_starts_go_on_alike():
    first, second = begun(), BackwardStarts(move=3, success=0.5, episodes=4)
    first.report(7, True)
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    for starts in (first, second):
        for success in (False, False, True):
            starts.report(7, success)
    assert first.state_dict() == second.state_dict()
    assert second.starts[7] == 2
