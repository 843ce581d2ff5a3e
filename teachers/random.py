"""Uniform choice: the baseline of every table, and a strong one (no selector beat it in DataFlex-RL, 2609.06107)."""

from __future__ import annotations

from typing import Any

from .protocol import Draw, Evidence, Teacher
from .registry import register
from .spaces import Arms, DiscreteCube, as_cube


@register("random")
class RandomTeacher(Teacher):
    """Uniform over the unit cube of a ParamSpace or Box, or over the arms of a Discrete.

    Args:
        space: ParamSpace, Box, Discrete, or arms from `discretise`.
        seed, return_range, max_in_flight: see `Teacher`.
    """

    def __init__(
        self, space: Any, *, seed: int = 0, return_range: tuple[float, float] = (0.0, 1.0), max_in_flight: int = 10_000
    ):
        self.domain = space if isinstance(space, Arms) else as_cube(space)
        super().__init__(self.domain.signature, seed=seed, return_range=return_range, max_in_flight=max_in_flight)

    def _draw(self, k: int) -> list[Draw]:
        domain = self.domain
        if isinstance(domain, Arms):
            arms = self._rng.integers(domain.n, size=k)
            return [Draw(None, domain.task(int(arm), self._rng), prob=1 / domain.n) for arm in arms]
        prob = 1 / domain.n if isinstance(domain, DiscreteCube) else 1.0
        return [Draw(None, domain.decode(u), prob=prob) for u in self._rng.random((k, domain.dimension))]

    def _record(self, task: Any) -> None:
        if isinstance(self.domain, Arms):
            self.domain.arm(task)
        else:
            self.domain.encode(task)

    def _learn(self, evidence: list[Evidence]) -> None:
        pass
