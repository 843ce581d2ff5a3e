"""eva (arXiv 2411.00062): evolve the most informative prompts.

The informativeness of a task is the gap between the best and the worst return of its group, a proxy of regret. Tasks
are drawn in proportion to their gaps and evolved: a generator, such as an agent that writes prompts, or a small step
along the axes makes a new task, which enters the memory once it has been played.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from ...checks import option
from ..protocol import Draw, Evidence
from ..registration import register
from ..sampling import pick
from .generation import Seed, TaskMaker


@register("eva")
class Eva(TaskMaker):
    """Draws tasks in proportion to the gap between their best return and a baseline, and evolves them.

    With probability `fresh`, a proposal is uniform over the original space (origin "explore"). Otherwise a task is
    drawn from memory in proportion to its gap, and the task itself ("replay") or, with probability `evolve`, a variant
    ("edit") is proposed. If no gap is above 0, the draw is uniform. On a list without a generator there are no
    variants, and the teacher only reweights the list.

    A task with a single return has no gap yet; until its second return it has the mean gap of the other tasks.
    """

    paper = "2411.00062"
    when = "New prompts can be written from old ones: those with the widest gap of returns are evolved."
    baseline: Literal["min", "mean"] = option(
        default="min",
        says='return that is subtracted from the best one: "min", the worst (the paper\'s choice), or "mean", the '
        "mean.",
    )
    fresh: float = option(
        default=0.2,
        above=0,
        high=1,
        says="share of uniform tasks. The paper mixes evolved with old prompts; no share is published.",
    )
    evolve: float = option(default=0.5, low=0, high=1, says="share of variants among the tasks that are not uniform.")
    group: int = option(default=4, low=2, says="number of latest single returns that form a task's group.")
    capacity: int = option(
        default=1024, low=1, says="largest number of tasks in memory; the task with the smallest gap is dropped first."
    )

    def setup(self) -> None:
        super().setup()
        self._memory: dict[str, tuple[Seed, list[float]]] = {}  # key -> seed, latest returns
        self._gaps: np.ndarray | None = np.zeros(0)  # of the tasks in memory, in order; None if outdated

    def gaps(self) -> np.ndarray:
        """Return float64[m], the informativeness of each task in memory."""
        if self._gaps is None:
            found = [informativeness(returns, self.baseline) for _, returns in self._memory.values()]
            gaps = np.array(found, dtype=np.float64)
            known = gaps[~np.isnan(gaps)]
            self._gaps = np.where(np.isnan(gaps), known.mean() if len(known) else 1.0, gaps)
        return self._gaps

    def _draw(self, k: int) -> list[Draw]:
        gaps, rng = self.gaps(), self._rng
        fresh = rng.random(k) < self.fresh if gaps.sum() > 0 else np.ones(k, dtype=bool)
        seeds, origins = self.source.uniform(k, rng), ["explore"] * k
        if not fresh.all():
            remembered = list(self._memory.values())
            slots = np.flatnonzero(~fresh).tolist()
            evolved = rng.random(len(slots)) < self.evolve if self.source.can_vary else np.zeros(len(slots), dtype=bool)
            for slot, parent, evolve in zip(slots, pick(gaps / gaps.sum(), len(slots), rng).tolist(), evolved.tolist()):
                seeds[slot], origins[slot] = remembered[parent][0], "replay"
                variant = self.source.variant(seeds[slot], rng) if evolve else None
                if variant is not None:
                    seeds[slot], origins[slot] = variant, "edit"
        return [Draw(seed, self.source.task(seed, rng), origin=origin) for seed, origin in zip(seeds, origins)]

    def _record(self, task: Any) -> Seed:
        return self.source.seed(task)

    def _learn(self, evidence: list[Evidence]) -> None:
        for item in evidence:
            key = self.source.key(item.record)
            _, returns = self._memory.get(key, (None, []))
            latest = item.returns.tolist()
            kept = latest if len(latest) > 1 else (returns + latest)[-self.group :]
            self._memory[key] = (item.record, kept)
        self._gaps = None
        if len(self._memory) > self.capacity:
            keys = list(self._memory)
            for index in np.argsort(self.gaps(), kind="stable")[: len(keys) - self.capacity].tolist():
                del self._memory[keys[index]]
            self._gaps = None

    def _metrics(self) -> dict[str, float]:
        gaps = self.gaps()
        mean = float(gaps.mean()) if len(gaps) else 0.0
        return {"remembered": len(gaps), "mean_gap": mean, "rejected": self.source.rejected}

    def _save(self) -> dict[str, Any]:
        return {"memory": [list(entry) for entry in self._memory.values()], "rejected": self.source.rejected}

    def _restore(self, own: Mapping[str, Any]) -> None:
        entries = [(self.source.check_seed(seed), [float(r) for r in returns]) for seed, returns in own["memory"]]
        self._memory = {self.source.key(seed): (seed, returns) for seed, returns in entries}
        self._gaps = None
        self.source.rejected = int(own["rejected"])


def informativeness(returns: list[float], baseline: str = "min") -> float:
    """Return the best of a group's returns minus the worst ("min") or the mean ("mean"); NaN for fewer than two."""
    if len(returns) < 2:
        return float("nan")
    return max(0.0, max(returns) - (min(returns) if baseline == "min" else sum(returns) / len(returns)))
