"""`Track` and `build_walker`: Gymnasium's bipedal walker on flat ground with stumps.

Terrain is measured in metres of the simulation; a stump's height is a multiple of `STEP`, as in the published track.
Box2D is imported when a walker is built.
"""

from __future__ import annotations

import functools
import itertools
import warnings
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from ...errors import MissingExtra

STEP = 14 / 30
"""Metres: a stump's width, and the unit of its height."""
PAD = 20 * STEP
"""Metres of flat ground before the first stump."""
END = 190 * STEP
"""Metres: the place where a track is walked to its end."""
LENGTH = 200 * STEP
SEGMENT = 34 / 30
"""Metres: length of a thigh, and of a shank with its foot."""
CLOSEST, LOWEST, SPREAD = 0.01, 0.05, 0.1
"""Minimum distance between two stumps, metres; minimum and standard deviation of heights, in units of `STEP`."""


class Track(NamedTuple):
    """A track: its stumps, and the seed of the push that the walker starts with.

    Args:
        heights: height of each stump, in units of `STEP`.
        spacing: flat ground after each stump, metres.
        push: the seed.
    """

    heights: tuple[float, ...]
    spacing: float
    push: int


def draw_track(rng: np.random.Generator, height: float, spacing: float) -> Track:
    """Draw as many stumps as fit on a track, with heights from N(height, 0.1), at least 0.05, in units of `STEP`."""
    spacing = max(spacing, CLOSEST)
    count = int(np.ceil((LENGTH - PAD) / (STEP + spacing)))
    heights = np.maximum(rng.normal(height, SPREAD, count), LOWEST).round(4)
    return Track(tuple(heights.tolist()), spacing, int(rng.integers(2**31)))


def build_walker(track: Track, render_mode: str | None = None) -> tuple[Any, np.ndarray]:
    """Return a walker on a track, already reset, and its first observation, float32[24].

    Raises:
        MissingExtra: Box2D is not installed.
    """
    walker = _walker_class()(render_mode, track)
    return walker, walker.reset(seed=track.push)[0]


@functools.cache
def _walker_class() -> Any:
    try:
        with warnings.catch_warnings():
            # Python crashes where one of the warnings about the types of Box2D's bindings is made an error.
            warnings.simplefilter("ignore", DeprecationWarning)
            from gymnasium.envs.box2d import bipedal_walker as box2d
    except (ImportError, gym.error.DependencyNotInstalled):
        raise MissingExtra("palaestra/StumpTracks-v0", "box2d") from None

    class TrackWalker(box2d.BipedalWalker):
        def __init__(self, render_mode: str | None, track: Track):
            super().__init__(render_mode)
            self.track = track

        def _generate_terrain(self, hardcore: bool) -> None:
            ground, x = box2d.TERRAIN_HEIGHT, PAD
            edges = [0.0, x]
            self.terrain, self.terrain_poly = [], []
            for height in self.track.heights:
                top = ground + height * STEP
                corners = [(x, ground), (x + STEP, ground), (x + STEP, top), (x, top)]
                self.fd_polygon.shape.vertices = corners
                self._add(self.fd_polygon, (153, 153, 153), (102, 102, 102))
                x += STEP + self.track.spacing
                edges.append(x)
            for number, (left, right) in enumerate(itertools.pairwise(edges)):
                self.fd_edge.shape.vertices = [(left, ground), (right, ground)]
                green = (76, 204 if number % 2 else 255, 76)
                self._add(self.fd_edge, green, green)
                soil = [(left, ground), (right, ground), (right, 0), (left, 0)]
                self.terrain_poly.append((soil, (102, 153, 76)))
            self.terrain.reverse()

        def _add(self, fixture: Any, fill: tuple[int, int, int], line: tuple[int, int, int]) -> None:
            body = self.world.CreateStaticBody(fixtures=fixture)
            body.color1, body.color2 = fill, line
            self.terrain.append(body)

    return TrackWalker
