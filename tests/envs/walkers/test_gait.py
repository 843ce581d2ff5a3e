"""The scripted walk: when legs change roles, and which way each part turns the joints."""

from __future__ import annotations

from typing import Any

import pytest
from palaestra.envs.walkers.gait import GAIT, Stride, find_torques, next_stride
from palaestra.envs.walkers.track_walker import PAD, STEP, Track

FLAT = Track((0.05, 1.0), 6.0, 0)
ONE = GAIT._replace(lift_steps=3.0, put_steps=5.0)


def see(contact: int | None = None, **values: float) -> list[float]:
    """Gymnasium's observation of a walker that stands upright at the gait's speed, with one foot on the ground."""
    seen = [0.0] * 24
    seen[2] = GAIT.speed * 3 / 25
    seen[6] = seen[11] = 0.5
    if contact is not None:
        seen[8 + 5 * contact] = 1.0
    for name, value in values.items():
        seen[{"lean": 0, "turn": 1, "speed": 2, "hip": 4}[name]] = value
    return seen


START = Stride()


def torques(gait: Any = GAIT, stride: Stride = START, place: float = 0.0, **values: float) -> list[float]:
    return find_torques(gait, stride, see(**values), place, FLAT)


def test_a_leg_is_lifted_for_its_time_and_put_down_until_it_meets_the_ground():
    stride, seen = Stride(), []
    for contact in (None, None, None, 0, 0, 0, None):
        stride = next_stride(ONE, stride, see(contact))
        seen.append(stride)
    # The contact of the first steps after the lift is still the old one.
    assert [(one.leg, one.lifts) for one in seen] == [
        *[(0, True)] * 2,
        *[(0, False)] * 3,
        *[(1, True)] * 2,
    ]
    other = next_stride(ONE, Stride(0, False, 4), see(1))
    assert (other.leg, other.lifts) == (0, False)  # that the standing leg has contact does not count


def test_a_leg_that_meets_no_ground_gives_way_to_the_other():
    stride, steps = Stride(0, False, 0), 0
    while stride.leg == 0:
        stride, steps = next_stride(ONE, stride, see()), steps + 1
    assert (steps, stride) == (6, Stride(1, True, 0))


def test_a_hull_that_leans_back_is_turned_forward_by_the_leg_that_stands():
    # Torque of the right hip, forward for the leg, turns the hull the other way.
    still = GAIT._replace(counter=0.0)
    upright, back, turning = torques(still), torques(still, lean=0.2), torques(still, turn=0.1)
    assert back[2] - upright[2] == pytest.approx(0.2 * GAIT.hull[0])
    assert turning[2] - upright[2] == pytest.approx(0.1 * 25.0 * GAIT.hull[1])


def test_the_faster_the_walker_the_further_its_leg_swings():
    plain, fast = torques(), torques(speed=GAIT.speed * 3 / 25 + 0.12)
    assert fast[0] - plain[0] == pytest.approx(GAIT.hip[0] * GAIT.by_speed)
    assert torques(stride=Stride(1))[2:] == pytest.approx(plain[:2])  # the legs are alike


def test_a_stump_counts_from_sight_to_its_far_side_by_its_height():
    second = PAD + STEP + FLAT.spacing  # one unit high
    plain = torques(place=PAD + 2.0)
    # With a bent knee the foot is 0.54 metres behind the hull.
    high, low = torques(place=second + 0.14), torques(place=PAD + 0.14)
    assert high[0] - plain[0] == pytest.approx(GAIT.hip[0] * GAIT.over[0])
    assert high[1] - plain[1] == pytest.approx(GAIT.knee[0] * GAIT.over[1])
    assert low[0] - plain[0] == pytest.approx(0.05 * GAIT.hip[0] * GAIT.over[0])
    assert torques(place=second - 0.1) == torques(place=second + STEP + 0.6) == plain
