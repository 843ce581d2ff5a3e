"""Encoding of observations of any space as arrays for a network.

There are three kinds of arrays: "cells", small images of categorical numbers such as MiniGrid's view; "pixels", larger
images; and "vector", the concatenation of everything else: numbers, Discrete values as one-hot vectors, and short
texts, such as the mission of a gridworld, as counts of words and pairs of words.
"""

from __future__ import annotations

import functools
import itertools
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from ...errors import InputError

SMALL = 36
"""Side length below which an image counts as "cells"; the convolutions of `actor_critic` need at least this size."""
CODES = 16
"""Number of categories in "cells"; larger numbers count as the last category."""
WORDS = 64
"""Length of the vector to which words and pairs of words are hashed."""


@dataclass(frozen=True)
class _Part:
    """Part of an observation: its keys, its space, its kind ("cells", "pixels", "text", ...), and its encoded size."""

    path: tuple[Any, ...]
    space: gym.Space[Any]
    kind: str
    size: int


class ObservationCode:
    """Encoder of observations of a space.

    Attributes:
        shapes: name of an array -> shape for one observation. Several images are numbered: "cells", "cells/1", ....

    Raises:
        InputError: the space holds only text, or a part other than Box, Discrete, MultiDiscrete, MultiBinary and text
            in a Dict or Tuple.
    """

    def __init__(self, space: gym.Space[Any]):
        self.space = space
        parts = list(_find_parts(space, ()))
        if all(part.kind == "text" for part in parts):
            raise InputError(
                f"{space} shows text only; a student needs an array or a number to look at, and --learner grpo trains "
                "a language model on text."
            )
        self._images: dict[str, _Part] = {}
        for part in parts:
            if part.kind in ("cells", "pixels"):
                taken = sum(other.kind == part.kind for other in self._images.values())
                self._images[f"{part.kind}/{taken}" if taken else part.kind] = part
        self._rest = [part for part in parts if part.kind not in ("cells", "pixels")]
        self.shapes: dict[str, tuple[int, ...]] = {
            name: tuple(part.space.shape or ()) for name, part in self._images.items()
        }
        if self._rest:
            self.shapes["vector"] = (sum(part.size for part in self._rest),)

    def encode(self, observations: Sequence[Any]) -> dict[str, np.ndarray]:
        """Encode n observations: uint8[n, height, width, channels] for images, float32[n, size] for the vector."""
        found = {
            name: np.stack([_follow(observation, part.path) for observation in observations])
            for name, part in self._images.items()
        }
        if self._rest:
            columns = [_encode_part(part, [_follow(one, part.path) for one in observations]) for part in self._rest]
            found["vector"] = columns[0] if len(columns) == 1 else np.concatenate(columns, axis=1)
        return found


def _find_parts(space: gym.Space[Any], path: tuple[Any, ...]) -> Iterator[_Part]:
    if isinstance(space, gym.spaces.Dict):
        for name, inner in space.items():
            yield from _find_parts(inner, (*path, name))
    elif isinstance(space, gym.spaces.Tuple):
        for number, inner in enumerate(space.spaces):
            yield from _find_parts(inner, (*path, number))
    elif isinstance(space, gym.spaces.Box):
        kind = "vector"
        if space.dtype == np.uint8 and len(space.shape) == 3:
            kind = "cells" if min(space.shape[:2]) < SMALL else "pixels"
        yield _Part(path, space, kind, int(np.prod(space.shape)))
    elif isinstance(space, gym.spaces.Discrete):
        yield _Part(path, space, "choice", int(space.n))
    elif isinstance(space, gym.spaces.MultiDiscrete):
        yield _Part(path, space, "choices", int(space.nvec.sum()))
    elif isinstance(space, gym.spaces.MultiBinary):
        yield _Part(path, space, "vector", int(np.prod(space.shape)))
    elif isinstance(space, gym.spaces.Text) or (space.dtype is not None and space.dtype.kind == "U"):
        yield _Part(path, space, "text", WORDS)
    else:
        raise InputError(f"a student cannot look at {space}; give it Box, Discrete, MultiDiscrete or MultiBinary.")


def _follow(observation: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        observation = observation[key]
    return observation


def _encode_part(part: _Part, values: list[Any]) -> np.ndarray:
    """Encode n values of one part, float32[n, size]."""
    space, rows = part.space, np.arange(len(values))
    if part.kind == "text":
        return np.stack([count_words(value) for value in values])
    if isinstance(space, gym.spaces.Discrete):
        found = np.zeros((len(values), part.size), dtype=np.float32)
        found[rows, np.asarray(values, dtype=np.int64) - int(space.start)] = 1.0
        return found
    if isinstance(space, gym.spaces.MultiDiscrete):
        found = np.zeros((len(values), part.size), dtype=np.float32)
        chosen = np.asarray(values, dtype=np.int64).reshape(len(values), -1) - np.ravel(space.start)
        found[rows[:, None], chosen + np.append(0, np.cumsum(np.ravel(space.nvec))[:-1])] = 1.0
        return found
    found = np.asarray(values, dtype=np.float32).reshape(len(values), -1)
    if isinstance(space, gym.spaces.Box):
        low, high = (bound.astype(np.float64).ravel() for bound in (space.low, space.high))
        bounded = np.isfinite(low) & np.isfinite(high) & (high - low < 1e6) & (high > low)
        # Bounded numbers are scaled to [-1, 1]; unbounded ones stay unchanged.
        low, high = np.where(bounded, low, -1.0), np.where(bounded, high, 1.0)
        found = ((2 * found - low - high) / (high - low)).astype(np.float32)
    return found


@functools.lru_cache(maxsize=4096)
def count_words(text: str) -> np.ndarray:
    """Return hashed counts of a text's words and pairs of neighbouring words, float32[WORDS]."""
    words = text.lower().split()
    found = np.zeros(WORDS, dtype=np.float32)
    for item in (*words, *map(" ".join, itertools.pairwise(words))):
        found[zlib.crc32(item.encode("utf-8", "surrogatepass")) % WORDS] += 1.0
    return found
