"""WebRL's curriculum (arXiv 2411.02337): new tasks made from failed ones, kept if a critic predicts that they are
feasible.

An agent (or any callable) writes a task similar to one that failed; on a space with axes, a small step makes one. The
task is proposed if a critic values it in [0.05, 0.75]: neither out of reach nor mastered.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...checks import check_numbers, option
from ..protocol import Draw, Evidence
from ..registration import register
from ..signals import check_band, success_counts
from .generation import Seed, TaskMaker

TaskCritic = Callable[[Any], float | Sequence[float]]


@register("webrl")
class WebRL(TaskMaker):
    """Makes variants of failed tasks and proposes those whose estimated success lies in a band.

    With probability `fresh`, before the first failure, or if no variant passes within `tries`, a proposal is uniform
    over the original space (origin "explore"). Otherwise it is a variant of a failed task ("edit"). On a list without a
    generator the candidates are random tasks of the list. (The paper makes 500 tasks between phases of training; here
    each task is made when it is proposed.)
    """

    paper = "2411.02337"
    when = (
        "Tasks can be made from tasks, as with agents on web sites: variants of failed tasks, neither too hard nor "
        "too easy."
    )
    critic: TaskCritic | None = option(
        default=None,
        saved=False,
        says="maps a task to its expected success. It may return several numbers (the paper's critic has two "
        "heads); one in the band is enough. None estimates success from the outcomes of the last `memory` "
        "tasks: a Gaussian kernel of width `bandwidth` in the unit cube (on a list, over its features), with a"
        " prior of one episode with success 1/2. The critic is not part of a saved state.",
    )
    band: tuple[float, float] = option(
        default=(0.05, 0.75),
        check=check_band,
        says="(lowest, highest) value of the critic at which a variant is proposed.",
    )
    fresh: float = option(default=0.2, low=0, high=1, says="share of uniform tasks. No share is published.")
    failed_below: float = option(
        default=0.5,
        above=0,
        high=1,
        says="success rate below which a group counts as failed. The paper has single episodes.",
    )
    failures: int = option(default=100, low=1, says="number of latest failed tasks that are stored.")
    tries: int = option(default=4, low=1, says="largest number of variants made for one proposal.")
    memory: int = option(default=250, low=1, says="number of latest tasks in the estimate of success.")
    bandwidth: float = option(default=0.1, above=0, says="width of the kernel in the estimate of success.")

    def setup(self) -> None:
        self.settings = {"critic": self.critic is not None}
        super().setup()
        self._failed: deque[Seed] = deque(maxlen=self.failures)
        self._seen: deque[tuple[Seed, float, int]] = deque(maxlen=self.memory)  # seed, successes, episodes
        self._grown, self._kept = 0, 0

    def values(self, seeds: list[Seed]) -> np.ndarray:
        """Return float64[m, heads], the critic's values of the seeds' tasks."""
        if self.critic is not None:
            tasks = [self.source.task(seed, self._rng) for seed in seeds]
            return np.array(
                [np.atleast_1d(check_numbers("a value", np.ravel(self.critic(task)).tolist())) for task in tasks]
            )
        if not self._seen:
            return np.full((len(seeds), 1), 0.5)
        known, successes, episodes = zip(*self._seen, strict=True)
        here, there = self.source.places(seeds), self.source.places(list(known))
        square = ((here[:, None] - there) ** 2).sum(2)
        near = np.exp(-0.5 * square / self.bandwidth**2)
        return ((near @ np.array(successes) + 0.5) / (near @ np.array(episodes) + 1.0))[:, None]

    def _draw(self, k: int) -> list[Draw]:
        rng, source = self._rng, self.source
        seeds, origins = source.uniform(k, rng), ["explore"] * k
        slots = np.flatnonzero(rng.random(k) >= self.fresh).tolist() if self._failed else []
        for _ in range(self.tries):
            if not slots:
                break
            grown = {slot: seed for slot in slots if (seed := self._make_variant()) is not None}
            values = self.values(list(grown.values())) if grown else np.empty((0, 1))
            inside = np.logical_and(values >= self.band[0], values <= self.band[1]).any(1)
            kept = set(np.array(list(grown), dtype=np.int64)[inside].tolist())
            for slot in kept:
                seeds[slot], origins[slot] = grown[slot], "edit"
            self._grown, self._kept = self._grown + len(grown), self._kept + len(kept)
            slots = [slot for slot in slots if slot not in kept]
        return [Draw(seed, source.task(seed, rng), origin=origin) for seed, origin in zip(seeds, origins)]

    def _make_variant(self) -> Seed | None:
        if not self.source.can_vary:
            return self.source.uniform(1, self._rng)[0]
        return self.source.variant(self._failed[int(self._rng.integers(len(self._failed)))], self._rng)

    def _record(self, task: Any) -> Seed:
        return self.source.seed(task)

    def _learn(self, evidence: list[Evidence]) -> None:
        for item in evidence:
            successes, episodes = success_counts(item)
            self._seen.append((item.record, successes, episodes))
            if successes / episodes < self.failed_below:
                self._failed.append(item.record)

    def _metrics(self) -> dict[str, float]:
        kept = self._kept / self._grown if self._grown else 0.0
        return {"failed": len(self._failed), "kept": kept, "rejected": self.source.rejected}

    def _save(self) -> dict[str, Any]:
        return {
            "failed": list(self._failed),
            "seen": [list(entry) for entry in self._seen],
            "counts": [self._grown, self._kept, self.source.rejected],
        }

    def _restore(self, own: Mapping[str, Any]) -> None:
        check_seed = self.source.check_seed
        self._failed = deque((check_seed(seed) for seed in own["failed"]), maxlen=self._failed.maxlen)
        seen = [(check_seed(seed), float(s), int(m)) for seed, s, m in own["seen"]]
        self._seen = deque(seen, maxlen=self._seen.maxlen)
        self._grown, self._kept, self.source.rejected = map(int, own["counts"])
