"""Uniform choice: the baseline of every table, and a strong one (no selector beat it in DataFlex-RL, 2609.06107)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..checks import option
from .pools import Arms
from .protocol import Draw, Evidence, Teacher
from .registration import register
from .spaces import DiscreteCube, as_cube

_NOTHING = 0
"""Record of every draw of `RandomTeacher`, which learns nothing; `_record` would cost more than the rest of the
draw."""


@register("random")
class RandomTeacher(Teacher):
    """Uniform over the unit cube of a ParamSpace or Box, or over the arms of a Discrete."""

    kind = "any"
    when = "Always, as the thing to beat, and where tasks of all difficulties can be learned at once."
    space: Any = option(
        kw_only=False, saved=False, says="ParamSpace, Box, Discrete, `FiniteTasks`, or arms from `discretise`."
    )

    def setup(self) -> None:
        self.domain = self.space if isinstance(self.space, Arms) else as_cube(self.space)
        self.begin(self.domain.signature)

    def distribution(self) -> np.ndarray | None:
        n = getattr(self.domain, "n", None)
        return None if n is None else np.full(n, 1 / n)

    def _draw(self, k: int) -> list[Draw]:
        domain = self.domain
        if isinstance(domain, Arms):
            arms = self._rng.integers(domain.n, size=k)
            return [Draw(_NOTHING, domain.task(int(arm), self._rng), prob=1 / domain.n) for arm in arms]
        prob = 1 / domain.n if isinstance(domain, DiscreteCube) else 1.0
        return [Draw(_NOTHING, task, prob) for task in domain.decode_all(self._rng.random((k, domain.dimension)))]

    def _record(self, task: Any) -> None:
        if isinstance(self.domain, Arms):
            self.domain.arm(task)
        else:
            self.domain.encode(task)

    def _learn(self, evidence: list[Evidence]) -> None:
        pass
