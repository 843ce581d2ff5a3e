"""Base of selectors: teachers that choose batches of distinct tasks from a finite list."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from ..pools import as_pool
from ..protocol import Common, Draw, Teacher


class PromptTeacher(Teacher):
    """Base of teachers that choose from a finite list; a subclass writes `_choose` and `_learn`.

    ``Evidence.record`` is the task's index in the pool. A batch repeats a task only if it is larger than the pool.

    Args:
        space: `FiniteTasks`, a Discrete, a ParamSpace or a Box. The tasks of the latter two are all combinations of
            values if these are few enough, or else the cells of a grid.
        bins: cells per axis of that grid; None as above.
        settings, seed, return_range, max_in_flight: see `Teacher`.

    Attributes:
        pool: the tasks, with ``pool.features`` (float64[n, d] in [0, 1]) and ``pool.difficulty`` (float64[n] in [0, 1],
            the prior difficulty).
    """

    kind = "prompts"

    def __init__(
        self,
        space: Any,
        *,
        bins: int | Sequence[int] | None = None,
        settings: Mapping[str, Any] | None = None,
        **common: Unpack[Common],
    ):
        self.pool = self.domain = as_pool(space, bins)
        super().__init__(self.pool.signature, settings=settings, **common)

    @abstractmethod
    def _choose(self, k: int) -> tuple[np.ndarray, np.ndarray | float, Sequence[str] | str]:
        """Return int[m] distinct indices, min(k, n) <= m <= k, with the probability and the origin of each.

        A probability is NaN where the choice is deterministic or its probability unknown. One probability or origin may
        stand for all.
        """

    def _draw(self, k: int) -> list[Draw]:
        draws: list[Draw] = []
        while len(draws) < k:
            chosen, probs, origins = self._choose(k - len(draws))
            if not len(chosen):
                raise RuntimeError(f"{type(self).__name__}._choose gave nothing")
            probs = probs.tolist() if isinstance(probs, np.ndarray) else [float(probs)] * len(chosen)
            origins = [origins] * len(chosen) if isinstance(origins, str) else origins
            for index, p, origin in zip(chosen.tolist(), probs, origins, strict=True):
                draws.append(Draw(index, self.pool.task(index, self._rng), p, origin, **self._draw_fields(index)))
        return draws

    def _draw_fields(self, index: int) -> dict[str, Any]:
        """Return further fields of the `Draw` of a chosen task: any of n, train and meta."""
        return {}

    def _record(self, task: Any) -> int:
        return self.pool.arm(task)
