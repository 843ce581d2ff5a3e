from __future__ import annotations

import numpy as np
import pytest
from palaestra.envs.walkers.track_walker import END, LENGTH, PAD, STEP, Track, build_walker, draw_track


def test_heights_are_normal_around_the_parameter_and_never_below_a_twentieth():
    rng = np.random.default_rng(0)
    high = np.concatenate([draw_track(rng, 2.0, 1.0).heights for _ in range(100)])
    assert high.mean() == pytest.approx(2.0, abs=0.01)
    assert high.std() == pytest.approx(0.1, abs=0.01)
    low = np.concatenate([draw_track(rng, 0.0, 1.0).heights for _ in range(100)])
    assert low.min() == 0.05
    assert np.mean(low == 0.05) == pytest.approx(0.69, abs=0.03)  # the normal distribution below half a deviation


@pytest.mark.parametrize("spacing", [0.0, 1.5, 6.0])
def test_a_track_has_stumps_until_its_end(spacing: float):
    track = draw_track(np.random.default_rng(1), 1.0, spacing)
    pitch = STEP + track.spacing
    assert track.spacing == max(spacing, 0.01)
    assert PAD + (len(track.heights) - 1) * pitch < LENGTH <= PAD + len(track.heights) * pitch


def test_stumps_stand_where_the_track_says_and_the_lidar_sees_them():
    track = Track((1.0, 2.5), 30.0, 7)
    walker, seen = build_walker(track)
    boxes = [body.fixtures[0].shape.vertices for body in walker.terrain if len(body.fixtures[0].shape.vertices) == 4]
    places = sorted((min(x for x, _ in box), max(y for _, y in box) - min(y for _, y in box)) for box in boxes)
    assert np.allclose(places, [(PAD, STEP), (PAD + STEP + 30.0, 2.5 * STEP)], atol=1e-4)
    assert seen.shape == (24,)
    near, _ = build_walker(track._replace(heights=(6.0, 0.05)))
    for body in (near.hull, *near.legs):
        body.position = (body.position[0] + 3.0, body.position[1])
    # The lidar points forward last; the first stump is 1.7 metres ahead of where it now is, and as high as the hull.
    assert near.step(np.zeros(4))[0][-1] < 0.5 < seen[-1]


def test_a_walker_that_is_built_twice_moves_alike_to_the_bit():
    track, rng = draw_track(np.random.default_rng(2), 0.5, 2.0), np.random.default_rng(3)
    actions = rng.uniform(-1, 1, (150, 4)).astype(np.float32)
    runs = []
    for _ in range(2):
        walker, seen = build_walker(track)
        runs.append([seen.tobytes(), *(walker.step(action)[0].tobytes() for action in actions)])
    assert runs[0] == runs[1]
    assert END < LENGTH
