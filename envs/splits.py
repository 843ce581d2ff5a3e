"""Split of tasks into train and test: the hash of a task's content decides, whatever the seed.

Since the split depends on the task alone, no test task can ever be met in training, in any process or Python version. A
task that hides a secret has a `salt` in its content, so that neither its split nor its ``task_id`` reveals the secret.
"""

from __future__ import annotations

import hashlib
from typing import Literal

import numpy as np

from ..errors import InputError

Split = Literal["train", "test", "all"]
SPLITS = ("train", "test", "all")
TEST_FRACTION = 0.2
_TEST_BELOW = int(TEST_FRACTION * 2**64)


def split_of(content: str) -> Literal["train", "test"]:
    """Return the split of a task with this content; a fifth of all contents is "test"."""
    digest = hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return "test" if int.from_bytes(digest, "big") < _TEST_BELOW else "train"


def salt(rng: np.random.Generator) -> str:
    """Draw 63 random bits as text, to be part of the content of a task that hides a secret.

    Without a salt, the ``task_id``, a hash of the content, would identify the secret; and the secrets of the test split
    would never occur in training, which a learner could notice.
    """
    return f"{int(rng.integers(1 << 63)):016x}"


def check_split(split: str) -> Split:
    """Return ``split`` if it is "train", "test" or "all". Raise InputError otherwise."""
    if split not in SPLITS:
        raise InputError(f"split must be {', '.join(map(repr, SPLITS[:-1]))} or {SPLITS[-1]!r}, not {split!r}.")
    return split  # type: ignore[return-value]
