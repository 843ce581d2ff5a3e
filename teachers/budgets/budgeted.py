"""A teacher whose proposals ask for the numbers of rollouts that an allocator computes.

    Budgeted(make("mopps", tasks), allocator="knapsack", rollouts=8)

The inner teacher chooses the tasks. `Budgeted` estimates the success rate of each task and allocates the rollouts of
every batch by these rates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ...checks import check_count, check_share
from ...errors import InputError
from ..combinators import CombinedTeacher
from ..pools import task_key
from ..protocol import Draw, Evidence, Proposal, Teacher
from ..signals import success_counts
from .allocators import ALLOCATORS, Allocator


class Budgeted(CombinedTeacher):
    """Sets `Proposal.n` by an allocator; tasks, probabilities, origins and requests are the inner teacher's.

    The trained proposals of a batch have ``rollouts`` episodes on average. Proposals for evaluation only
    (``train=False``) keep the inner teacher's n and do not count.

    Args:
        teacher: any teacher.
        allocator: a registered name ("uniform", "knapsack", "cures", "e3", "zero-one"), or a function
            ``(p_hat, budget, low, high, **params) -> int[k]``.
        rollouts: mean number of episodes of a proposal.
        low, high: bounds on the episodes of a proposal, low <= rollouts <= high.
        prior: initial (successes, failures) of a task's estimate, at least 0 each. (0, 0) takes the raw rates, as the
            knapsack paper does: a task never solved has rate 0, an unseen task 1/2.
        decay: factor in [0, 1] on a task's earlier outcomes at each new outcome; 0 keeps only the latest outcome. The
            paper takes the outcomes of the last epoch.
        memory: number of tasks whose rates are stored; the least recently seen task is dropped first.
        params: further arguments of the allocator.

    Raises:
        InputError: unknown allocator, or an option out of range.
    """

    def __init__(
        self,
        teacher: Teacher,
        allocator: str | Allocator = "knapsack",
        *,
        rollouts: int = 8,
        low: int = 2,
        high: int = 128,
        prior: tuple[float, float] = (0.0, 0.0),
        decay: float = 0.5,
        memory: int = 100_000,
        **params: Any,
    ):
        for name, value, least in (("low", low, 0), ("rollouts", rollouts, 1), ("memory", memory, 1)):
            check_count(name, value, low=least)
        check_count("high", high, low=1)
        if not low <= rollouts <= high:
            raise InputError(f"rollouts={rollouts} must lie between low={low} and high={high}.")
        if len(prior) != 2 or not all(0 <= value < float("inf") for value in prior):
            raise InputError(f"prior={prior!r} must be two numbers of at least 0, successes and failures.")
        self.allocate = ALLOCATORS[allocator] if isinstance(allocator, str) else allocator
        if isinstance(allocator, str):
            ALLOCATORS.check_options(allocator, params)
        self.rollouts, self.low, self.high, self.params = int(rollouts), int(low), int(high), params
        self.prior, self.decay, self.memory = (
            (float(prior[0]), float(prior[1])),
            check_share("decay", decay),
            int(memory),
        )
        settings = {
            "allocator": allocator if isinstance(allocator, str) else getattr(allocator, "__qualname__", "allocator"),
            "rollouts": self.rollouts,
            "low": self.low,
            "high": self.high,
            "prior": list(self.prior),
            "decay": self.decay,
            "memory": self.memory,
            "params": dict(params),
        }
        super().__init__([teacher], settings=settings)
        self._rates: dict[str, tuple[float, float]] = {}  # task -> successes, episodes; least recently seen first

    @property
    def teacher(self) -> Teacher:
        """The teacher that chooses the tasks."""
        return self.parts[0]

    def rate(self, task: Any) -> float:
        """Return the estimated success rate of a task; 1/2 for an unseen task without a prior."""
        return self._rate(task_key(task))

    def _rate(self, key: str) -> float:
        successes, episodes = self._rates.get(key, (0.0, 0.0))
        total = episodes + sum(self.prior)
        return (successes + self.prior[0]) / total if total > 0 else 0.5

    def distribution(self) -> np.ndarray | None:
        return self.teacher.distribution()

    def sample(self) -> Any:
        return self.teacher.sample()

    def _turns(self, k: int) -> np.ndarray:
        return np.zeros(k, dtype=int)

    def _pass_on(self, part: int, proposal: Proposal) -> Draw:
        draw = super()._pass_on(part, proposal)
        return replace(draw, record=[*draw.record, task_key(draw.task)])

    def _draw(self, k: int) -> list[Draw]:
        draws = super()._draw(k)
        train = [place for place, draw in enumerate(draws) if draw.train]
        budget = len(train) * self.rollouts
        rates = np.array([self._rate(draws[place].record[2]) for place in train])
        counts = np.asarray(self.allocate(rates, budget, self.low, self.high, **self.params))
        if counts.shape != rates.shape or counts.sum() != budget:
            raise InputError(
                f"the allocator gave {counts.tolist()} to {len(train)} prompts; give each a share of {budget}."
            )
        for place, n in zip(train, counts.tolist()):
            draws[place] = replace(draws[place], n=int(n))
        return draws

    def _record(self, task: Any) -> Any:
        return [*super()._record(task), task_key(task)]

    def _learn(self, evidence: list[Evidence]) -> None:
        for item in evidence:
            successes, episodes = success_counts(item)
            before = self._rates.pop(item.record[2], (0.0, 0.0))
            self._rates[item.record[2]] = (self.decay * before[0] + successes, self.decay * before[1] + episodes)
            if len(self._rates) > self.memory:
                del self._rates[next(iter(self._rates))]
        super()._learn([replace(item, record=item.record[:2]) for item in evidence])

    def _metrics(self) -> dict[str, float]:
        return {**super()._metrics(), "rated": len(self._rates)}

    def _save(self) -> dict[str, Any]:
        return {**super()._save(), "rates": [[key, *counts] for key, counts in self._rates.items()]}

    def _restore(self, own: Mapping[str, Any]) -> None:
        super()._restore(own)
        self._rates = {str(key): (float(s), float(m)) for key, s, m in own["rates"]}
