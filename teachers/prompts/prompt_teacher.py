"""Base of selectors: teachers that choose batches of distinct tasks from a finite list."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...checks import keyword_declared, option
from ..pools import as_pool
from ..protocol import Draw, Teacher


@keyword_declared
class PromptTeacher(Teacher):
    """Base of teachers that choose from a finite list; a subclass writes `_choose` and `_learn`.

    ``Evidence.record`` is the task's index in the pool. A batch repeats a task only if it is larger than the pool.

    Attributes:
        pool: the tasks, with ``pool.features`` (float64[n, d] in [0, 1]) and ``pool.difficulty`` (float64[n] in [0, 1],
            the prior difficulty).
    """

    kind = "prompts"
    space: Any = option(
        kw_only=False,
        saved=False,
        says="`FiniteTasks`, a Discrete, a ParamSpace or a Box. The tasks of a ParamSpace or Box are all "
        "combinations of values if these are few enough, or else the cells of a grid.",
    )
    bins: int | Sequence[int] | None = option(
        default=None,
        saved=False,
        says="cells per axis of the grid into which axes are cut; None uses all combinations of values instead if "
        "these are few enough.",
    )

    def setup(self) -> None:
        self.pool = self.domain = as_pool(self.space, self.bins)
        self.begin(self.pool.signature)

    @abstractmethod
    def _choose(self, k: int) -> tuple[np.ndarray, np.ndarray | float, Sequence[str] | str]:
        """Return int[m] distinct indices, min(k, n) <= m <= k, with the probability and the origin of each.

        A probability is NaN if the choice is deterministic or its probability is unknown. One probability or origin may
        be returned for all.
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
