"""A Gymnasium space of all strings up to a length, fast and safe for any text.

``gymnasium.spaces.Text`` has a finite alphabet, checks membership character by character, and its asynchronous shared
memory is read once and then stale. Here membership costs O(1), and the functions registered at the bottom make
``make_vec`` work synchronously and asynchronously: shared memory holds UTF-8 bytes behind a live view.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterable, Sequence
from ctypes import c_uint8
from typing import Any, overload

import gymnasium as gym
import numpy as np
from gymnasium.spaces import utils as flat
from gymnasium.vector import utils as vector
from gymnasium.wrappers.utils import create_zero_array

from ..errors import InputError

# Characters of samples: printable ASCII, and a few others of one to four UTF-8 bytes.
_PRINTABLE = tuple(chr(code) for code in range(32, 127)) + tuple("\n\t\u00e9\u03b1\u0436\u4e2d\u0967\U0001d7d9")
_SAMPLE_LENGTH = 64


class Unicode(gym.Space[str]):
    """Any string, the empty one too, of at most ``max_length`` characters (code points).

    Args:
        max_length: at least 0.
        seed: seed of `sample`.
    """

    def __init__(self, max_length: int, seed: int | np.random.Generator | None = None):
        if isinstance(max_length, bool) or not isinstance(max_length, (int, np.integer)) or max_length < 0:
            raise InputError(f"max_length must be a whole number of at least 0, not {max_length!r}.")
        self.max_length = int(max_length)
        super().__init__(dtype=str, seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        return False

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> str:
        """Draw printable text of up to 64 characters (or ``max_length``), mostly ASCII.

        Raises:
            InputError: a mask or probabilities are given, as neither has a meaning for an infinite alphabet.
        """
        if mask is not None or probability is not None:
            raise InputError("a Unicode space has no finite alphabet, so sample() takes neither mask nor probability.")
        length = int(self.np_random.integers(0, min(self.max_length, _SAMPLE_LENGTH) + 1))
        return "".join(_PRINTABLE[i] for i in self.np_random.integers(0, len(_PRINTABLE), length).tolist())

    def contains(self, x: Any) -> bool:
        return isinstance(x, str) and len(x) <= self.max_length

    def __repr__(self) -> str:
        return f"Unicode({self.max_length})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unicode) and self.max_length == other.max_length

    def __hash__(self) -> int:
        return hash((Unicode, self.max_length))

    def to_jsonable(self, sample_n: Sequence[str]) -> list[str]:
        return list(sample_n)

    def from_jsonable(self, sample_n: list[str]) -> list[str]:
        return list(sample_n)


class SharedText(Sequence[str]):
    """A live, read-only view of the texts in shared memory: item i is the last text that environment i wrote.

    Each environment has a row: four bytes of length, then UTF-8. Lone surrogates survive. A copy (``copy.deepcopy``,
    which vector environments make by default) is a plain tuple of strings.
    """

    HEADER = 4

    def __init__(self, memory: Any, rows: int):
        self._memory = memory
        self._rows = rows

    @staticmethod
    def allocate(context: Any, rows: int, max_bytes: int) -> Any:
        return context.Array(c_uint8, rows * (SharedText.HEADER + max_bytes))

    def _row(self, index: int) -> np.ndarray:
        return np.frombuffer(self._memory.get_obj(), dtype=np.uint8).reshape(self._rows, -1)[index]

    def write(self, index: int, text: str) -> None:
        """Store ``text`` in row ``index``. Raise InputError if the text is longer than the row."""
        data = text.encode("utf-8", "surrogatepass")
        row = self._row(index)
        if len(data) > row.size - self.HEADER:
            raise InputError(f"a text of {len(data)} bytes exceeds the {row.size - self.HEADER} shared for it.")
        row[self.HEADER : self.HEADER + len(data)] = np.frombuffer(data, dtype=np.uint8)
        row[: self.HEADER] = np.frombuffer(len(data).to_bytes(self.HEADER, "little"), dtype=np.uint8)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(self)[index]
        if not -self._rows <= index < self._rows:
            raise IndexError(f"index {index} of {self._rows} texts")
        row = self._row(index)
        size = int.from_bytes(row[: self.HEADER].tobytes(), "little")
        return row[self.HEADER : self.HEADER + size].tobytes().decode("utf-8", "surrogatepass")

    def __len__(self) -> int:
        return self._rows

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (tuple, SharedText)) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # its content changes

    def __deepcopy__(self, memo: dict[int, Any]) -> tuple[str, ...]:
        return tuple(self)

    def __repr__(self) -> str:
        return f"SharedText{tuple(self)!r}"


# Gymnasium annotates its dispatch functions with its own spaces only, hence the ignored argument types below.


def share_as_text(space_type: type[gym.Space[Any]], max_bytes: Any) -> None:
    """Register shared memory for a space of strings. ``max_bytes(space)`` must return the largest number of UTF-8 bytes
    of one string."""

    @vector.create_shared_memory.register(space_type)
    def create(space: Any, n: int = 1, ctx: Any = multiprocessing) -> Any:
        return SharedText.allocate(ctx, n, max_bytes(space))

    @vector.read_from_shared_memory.register(space_type)  # type: ignore[arg-type]
    def read(space: Any, shared_memory: Any, n: int = 1) -> SharedText:
        return SharedText(shared_memory, n)

    @vector.write_to_shared_memory.register(space_type)
    def write(space: Any, index: int, value: str, shared_memory: Any) -> None:
        size = SharedText.HEADER + max_bytes(space)
        SharedText(shared_memory, len(shared_memory) // size).write(index, value)


share_as_text(Unicode, lambda space: 4 * space.max_length)

# `iterate` is left out on purpose: were it registered, Gymnasium would walk a batch (a Tuple of Unicode) character by
# character instead of text by text. The same holds for its own Text space.


@vector.batch_space.register(Unicode)
def _batch_space(space: Unicode, n: int = 1) -> gym.spaces.Tuple:
    seeds = space.np_random.integers(0, 2**31, n).tolist() if space._np_random is not None else [None] * n
    return gym.spaces.Tuple([Unicode(space.max_length, seed) for seed in seeds])


@vector.batch_differing_spaces.register(Unicode)
def _batch_differing_spaces(spaces: Sequence[Unicode]) -> gym.spaces.Tuple:
    return gym.spaces.Tuple([Unicode(space.max_length) for space in spaces])


@vector.concatenate.register(Unicode)
def _concatenate(space: Unicode, items: Iterable[str], out: Any) -> tuple[str, ...]:
    return tuple(items)


@vector.create_empty_array.register(Unicode)
def _create_empty_array(space: Unicode, n: int = 1, fn: Any = np.zeros) -> tuple[str, ...]:
    return ("",) * n


@create_zero_array.register(Unicode)
def _create_zero_array(space: Unicode) -> str:
    return ""


@flat.flatten_space.register(Unicode)  # type: ignore[arg-type]
def _flatten_space(space: Unicode) -> Unicode:
    return space


@flat.flatten.register(Unicode)  # type: ignore[arg-type]
def _flatten(space: Unicode, x: str) -> str:
    return x


@flat.unflatten.register(Unicode)
def _unflatten(space: Unicode, x: str) -> str:
    return x
