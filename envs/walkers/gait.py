"""A scripted walk over low stumps: a machine of two states for each leg, after SIMBICON (Yin, Loken and van de Panne,
ACM Transactions on Graphics 26, 2007).

One leg swings while the other one stands. The swinging leg is first lifted for some steps, then put down until it meets
the ground; then the legs change roles. Each state has a pose, which springs and dampers at the joints hold. The
swinging hip is turned further the faster the hull moves, and the standing hip keeps the hull upright. The higher a
stump ahead, the higher the leg is lifted. Angles are in radians, forward positive; a thigh's angle is measured from the
vertical. The numbers of `GAIT` were found by CMA-ES on tracks with stumps of up to two thirds of a metre.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from .track_walker import PAD, SEGMENT, STEP, Track

_HIP_SPEED, _KNEE_SPEED, _KNEE_SHIFT = 4.0, 6.0, 1.0
"""Units of the speeds of hip and knee in Gymnasium's observation, and the angle that it adds to a knee's, radians."""
_TURN, _FORWARD = 25.0, 25.0 / 3.0
"""Units of the hull's turning and forward speeds there, radians and metres per second."""
_BOUNCE = 2
"""Steps at the start of putting a leg down in which its contact with the ground may still be the old one."""


class Pose(NamedTuple):
    """Target angles: thigh and knee of the swinging leg, and knee of the standing leg."""

    thigh: float
    knee: float
    standing_knee: float


class Gait(NamedTuple):
    """Parameters of a walk.

    Args:
        lift, put: poses of the two states.
        lift_steps, put_steps: number of steps of a lift, and maximum number of steps of putting down.
        by_distance: radians that the thigh swings further for each metre that the hull is ahead of the standing foot.
        by_speed: radians that the thigh swings further for each metre per second above ``speed``.
        speed: target speed, metres per second.
        lean: target angle of the hull.
        hip, knee, hull: (spring, damper): torque for a radian, and for a radian per second.
        counter: share of the swinging hip's torque that the standing hip counteracts.
        push: torque taken from the standing hip for each metre per second below ``speed``.
        over: radians added to the targets of thigh, knee and hull for each unit of a stump's height.
        sight: distance before the foot from which a stump counts, metres.
    """

    lift: Pose
    put: Pose
    lift_steps: float
    put_steps: float
    by_distance: float
    by_speed: float
    speed: float
    lean: float
    hip: tuple[float, float]
    knee: tuple[float, float]
    hull: tuple[float, float]
    counter: float
    push: float
    over: tuple[float, float, float]
    sight: float


class Stride(NamedTuple):
    """Phase of a walk: the swinging leg (0 or 1), True if the leg is being lifted, False if put down, and for how many
    steps so far."""

    leg: int = 0
    lifts: bool = True
    steps: int = 0


def next_stride(gait: Gait, stride: Stride, seen: Sequence[float]) -> Stride:
    """Return the stride after a step of the simulation whose observation, as in Gymnasium, is ``seen``."""
    leg, lifts, steps = stride.leg, stride.lifts, stride.steps + 1
    if lifts:
        return Stride(leg, steps < gait.lift_steps, steps if steps < gait.lift_steps else 0)
    landed = seen[8 + 5 * leg] and steps > _BOUNCE
    return Stride(1 - leg, True, 0) if landed or steps > gait.put_steps else Stride(leg, False, steps)


def find_torques(gait: Gait, stride: Stride, seen: Sequence[float], place: float, track: Track) -> list[float]:
    """Return the torques of a step, four numbers in the order of the actions; their absolute values may exceed 1.

    Args:
        stride: see `next_stride`.
        seen: Gymnasium's observation, not clipped.
        place: position of the hull on the track, metres.
    """
    lean, turn, speed = seen[0], _TURN * seen[1], _FORWARD * seen[2]
    swings, stands = 4 + 5 * stride.leg, 9 - 5 * stride.leg
    hip, knee, foot = _locate(seen, swings)
    _, standing_knee, standing_foot = _locate(seen, stands)
    further = gait.by_speed * (speed - gait.speed) - gait.by_distance * standing_foot
    pose = gait.lift if stride.lifts else gait.put
    thigh_over, knee_over, lean_over = gait.over
    before, height = _next_stump(track, place + foot)
    height = height if before < gait.sight else 0.0
    # A leg that is put down comes over the stump first with its knee, then with its thigh.
    thigh_over *= stride.lifts or before > -STEP
    knee_over *= stride.lifts or before > 0.0
    swing = _spring(gait.hip, pose.thigh + further + thigh_over * height - lean - hip, _HIP_SPEED * seen[swings + 1])
    bend = _spring(gait.knee, pose.knee + knee_over * height - knee, _KNEE_SPEED * seen[swings + 3])
    stretch = _spring(gait.knee, pose.standing_knee - standing_knee, _KNEE_SPEED * seen[stands + 3])
    # The hip that stands turns the hull the other way.
    hold = -_spring(gait.hull, gait.lean + lean_over * height - lean, turn)
    hold -= gait.counter * swing + gait.push * (gait.speed - speed)
    legs = [swing, bend], [hold, stretch]
    return [*legs[stride.leg], *legs[1 - stride.leg]]


def _locate(seen: Sequence[float], leg: int) -> tuple[float, float, float]:
    """Return the angles of hip and knee of the leg whose part of ``seen`` begins at ``leg``, and the distance of its
    foot ahead of the hull, metres."""
    hip, knee = seen[leg], seen[leg + 2] - _KNEE_SHIFT
    thigh = seen[0] + hip
    return hip, knee, SEGMENT * (math.sin(thigh) + math.sin(thigh + knee))


def _spring(constants: tuple[float, float], way: float, speed: float) -> float:
    return constants[0] * way - constants[1] * speed


def _next_stump(track: Track, foot: float) -> tuple[float, float]:
    """Return the distance from a foot to the near side of the first stump that it has not passed, metres, and the
    stump's height in units of `STEP`."""
    pitch = STEP + track.spacing
    number = max(0, math.ceil((foot - PAD - STEP) / pitch))
    return PAD + number * pitch - foot, track.heights[number] if number < len(track.heights) else 0.0


GAIT = Gait(
    lift=Pose(0.9214, -1.849, -0.2022),
    put=Pose(0.3944, -0.4032, -0.4721),
    lift_steps=16.41,
    put_steps=38.1,
    by_distance=0.002276,
    by_speed=0.115,
    speed=2.894,
    lean=0.05666,
    hip=(3.755, 0.245),
    knee=(1.141, 0.0556),
    hull=(0.8613, 0.3089),
    counter=0.1602,
    push=-0.1132,
    over=(0.1198, -0.209, -0.1561),
    sight=0.5403,
)
