"""Points of the teacher "palaestra": what is repeated, what is varied, and what is kept."""

from __future__ import annotations

import json

import numpy as np
import pytest
from palaestra.teachers.expected_gain.points import MOST, Points

MATTERS = np.ones(2)


def repeat(points, origin, returns, mixed=True):
    """Report outcomes of the point with the id ``origin``."""
    for ret in returns:
        points.add(points.tasks[np.flatnonzero(points._ids == origin)[0]], ret, origin, False, mixed)


def test_what_improves_is_repeated_rather_than_what_stays_or_is_solved():
    points = Points(2)
    for i, x in enumerate((0.2, 0.4, 0.6)):
        points.add([x, x], 0.1 + 0.4 * i, -1, False)
    repeat(points, 0, [0.1 + 0.02 * i for i in range(1, 20)])  # rises
    repeat(points, 1, [0.5] * 19)  # stays
    repeat(points, 2, [0.9] * 10 + [1.0] * 9)  # is solved
    points.fit()
    tasks, ids, varied = points.draw(1000, 0.0, MATTERS, np.random.default_rng(0))
    assert not varied.any()
    assert (ids == 0).mean() > 0.6
    assert (ids == 2).mean() < 0.05
    assert tasks[ids == 0].tolist() == [[0.2, 0.2]] * int((ids == 0).sum())


def test_a_task_is_left_whose_groups_do_not_tell_their_episodes_apart():
    points = Points(2)
    for x in (0.2, 0.8):
        points.add([x, x], 0.1, -1, False)
    for origin, mixed in ((0, True), (1, False)):
        repeat(points, origin, [0.1 + 0.02 * i for i in range(1, 20)], mixed)
    points.fit()
    _, ids, _ = points.draw(1000, 0.0, MATTERS, np.random.default_rng(0))
    assert (ids == 0).mean() > 0.95


def test_variations_take_the_lengths_that_led_to_discoveries():
    points, rng = Points(1), np.random.default_rng(0)
    points.add([0.5], 0.5, -1, False)
    matters = np.ones(1)
    for _ in range(40):
        for task, origin in zip(*points.draw(8, 1.0, matters, rng)[:2]):
            # What lies more than .05 away is out of reach.
            points.add(task, 0.3 if abs(task[0] - 0.5) < 0.05 else 0.0, int(origin), True)
    tasks, ids, _ = points.draw(1000, 1.0, matters, rng)
    origins = np.array([points.tasks[np.flatnonzero(points._ids == i)[0], 0] for i in ids])
    assert np.median(abs(tasks[:, 0] - origins)) < 0.05  # 0.1 where all lengths are drawn alike


def test_what_is_known_of_points_is_saved():
    points = Points(2)
    for x in (0.2, 0.8):
        points.add([x, x], 0.1, -1, False)
    repeat(points, 1, [0.2, 0.3], False)
    points.fit()
    other = Points.restore(json.loads(json.dumps(points.save())), 2)
    for name, array in vars(points).items():
        if isinstance(array, np.ndarray):
            assert (getattr(other, name) == array).all(), name


def test_variations_stay_in_the_cube_and_move_the_axes_that_matter():
    points = Points(3)
    points.add([0.99, 0.5, 0.0], 0.5, -1, False)
    tasks, ids, varied = points.draw(2000, 1.0, np.array([0.5, 0.0, 0.5]), np.random.default_rng(0))
    assert varied.all()
    assert set(ids.tolist()) == {0}
    assert tasks.min() >= 0
    assert tasks.max() <= 1
    moved = (tasks != [0.99, 0.5, 0.0]).mean(0)
    assert moved[1] < 0.5 * moved[0] == pytest.approx(0.5 * moved[2], abs=0.05)
    assert (tasks != [0.99, 0.5, 0.0]).any(1).all()


def test_failures_are_no_points_and_like_returns_no_new_ones():
    points = Points(2)
    points.add([0.5, 0.5], 0.0, -1, False)
    assert points.size == 0
    points.add([0.5, 0.5], 0.4, -1, False)
    points.add([0.6, 0.5], 0.42, 0, True)
    assert points.size == 1
    points.add([0.7, 0.5], 0.1, 0, True)
    assert points.size == 2


def test_a_point_that_made_way_hears_nothing_more():
    points = Points(2)
    rng = np.random.default_rng(0)
    for x in rng.random((MOST + 40, 2)):
        points.add(x, 0.5, -1, False)
    assert points.size == MOST
    gone = next(i for i in range(MOST + 40) if i not in points._ids)
    before = points.save()
    points.add([0.1, 0.1], 0.3, gone, False)
    assert points.save() == before


def test_returns_that_repeat_are_reliable_and_coin_flips_are_not():
    rng = np.random.default_rng(0)
    found = {}
    for name, noise in (("none", 0.0), ("small", 0.1), ("coin", 1.0)):
        points = Points(1)
        points.add([0.3], 0.5, -1, False)
        for _ in range(200):
            level = rng.random() < 0.5 if noise == 1.0 else min(max(0.5 + noise * rng.standard_normal(), 0.01), 0.99)
            points.add([0.3], float(level), 0, False)
            points.fit()
        found[name] = points.reliability
    assert found["none"] > 0.95
    assert 0.8 < found["small"] < 0.99
    assert found["coin"] < 0.25


@pytest.mark.parametrize("outcomes", [0, 50])
def test_saved_points_go_on_exactly(outcomes):
    rng = np.random.default_rng(1)
    points = Points(2)
    for x in rng.random((outcomes, 2)):
        points.add(x, float(x[0]), -1, False)
    points.fit()
    copy = Points.restore(json.loads(json.dumps(points.save())), 2)
    assert copy.save() == points.save()
    for one in (points, copy):
        for i in range(20):
            one.add([0.01 * i, 0.2], 0.5, i, i % 2 == 0)
        one.fit()
    assert copy.save() == points.save()
