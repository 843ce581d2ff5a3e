"""WebRL's curriculum (arXiv 2411.02337): new tasks grown from failed ones, kept where a critic predicts that they are
feasible.

An agent (or any callable) writes a task like one that was failed; on a space with axes a small step makes one. It is
proposed where a critic's value of it lies in [0.05, 0.75]: neither out of reach nor mastered.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from ...checks import check_count, check_number, check_numbers, check_share
from ...errors import InputError
from ..protocol import Common, Draw, Evidence, Teacher
from ..registration import register
from ..signals import success_counts
from .generation import Generate, Seed, TaskSource, Writer

TaskCritic = Callable[[Any], float | Sequence[float]]


@register("webrl")
class WebRL(Teacher):
    """Grows tasks from failed ones and keeps variants whose estimated success lies in a band.

    With probability `fresh`, before the first failure, or if no variant passes within `tries`, a proposal is uniform
    over the original space (origin "explore"). Otherwise it is a variant of a failed task ("edit"). On a list without a
    generator the candidates are the other tasks of the list. (The paper grows 500 tasks between phases of training;
    here each task is made when it is proposed.)

    Args:
        space: ParamSpace, Box, Discrete, `FiniteTasks`, or arms from `discretise`.
        generator: makes a variant, see `generation`; None steps along the axes. It is no part of a saved state, and
            neither is the critic.
        critic: maps a task to its expected success. It may return several numbers (the paper's critic has two heads);
            one in the band is enough. None estimates success from the outcomes of the last `memory` tasks: a Gaussian
            kernel of width `bandwidth` in the unit cube (on a list over its features), with a prior of one episode at
            a half.
        band: (lowest, highest) value that is kept.
        fresh: in [0, 1]. No share is published.
        failed_below: success rate below which a group counts as failed, in (0, 1]. The paper has single episodes.
        failures: number of latest failed tasks that are remembered.
        tries: largest number of variants made for one proposal.
        step: size of the steps along the axes, see `TaskSource`.
        memory, bandwidth: of the estimate of success.
        seed, return_range, max_in_flight: see `Teacher`.

    Raises:
        InputError: an option out of range.
    """

    kind = "prompts"
    paper = "2411.02337"

    def __init__(
        self,
        space: Any,
        *,
        generator: Generate | Writer | None = None,
        critic: TaskCritic | None = None,
        band: tuple[float, float] = (0.05, 0.75),
        fresh: float = 0.2,
        failed_below: float = 0.5,
        failures: int = 100,
        tries: int = 4,
        step: float = 0.1,
        memory: int = 250,
        bandwidth: float = 0.1,
        **common: Unpack[Common],
    ):
        if len(band) != 2 or not check_numbers("band", band)[0] <= band[1]:
            raise InputError(f"band={band!r} must be two numbers, the lower one first.")
        for name, value in (("failures", failures), ("tries", tries), ("memory", memory)):
            check_count(name, value, low=1)
        self.band = check_numbers("band", band)
        self.tries = int(tries)
        self.bandwidth = check_number("bandwidth", bandwidth, above=0)
        self.fresh = check_share("fresh", fresh)
        self.failed_below = check_share("failed_below", failed_below, positive=True)
        self.critic, self.source = critic, TaskSource(space, generator, step)
        self.domain = self.source.domain
        settings = {
            "generator": generator is not None,
            "critic": critic is not None,
            "band": list(self.band),
            "fresh": self.fresh,
            "failed_below": self.failed_below,
            "failures": int(failures),
            "tries": self.tries,
            "step": self.source.step,
            "memory": int(memory),
            "bandwidth": self.bandwidth,
        }
        super().__init__(self.source.signature, settings=settings, **common)
        self._failed: deque[Seed] = deque(maxlen=int(failures))
        self._seen: deque[tuple[Seed, float, int]] = deque(maxlen=int(memory))  # seed, successes, episodes
        self._grown, self._kept = 0, 0

    def values(self, seeds: list[Seed]) -> np.ndarray:
        """float64[m, heads]: the critic's values of the seeds' tasks."""
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

    def _in_band(self, seeds: list[Seed]) -> np.ndarray:
        """bool[m]: whether any head's value lies in the band."""
        values = self.values(seeds)
        return np.asarray(((values >= self.band[0]) & (values <= self.band[1])).any(1))

    def _draw(self, k: int) -> list[Draw]:
        rng, source = self._rng, self.source
        seeds, origins = source.uniform(k, rng), ["explore"] * k
        slots = np.flatnonzero(rng.random(k) >= self.fresh).tolist() if self._failed else []
        for _ in range(self.tries):
            if not slots:
                break
            grown = {slot: seed for slot in slots if (seed := self._make_variant()) is not None}
            keep = dict(zip(grown, self._in_band(list(grown.values())).tolist() if grown else []))
            for slot in [slot for slot, kept in keep.items() if kept]:
                seeds[slot], origins[slot] = grown[slot], "edit"
            self._grown, self._kept = self._grown + len(grown), self._kept + sum(keep.values())
            slots = [slot for slot in slots if not keep.get(slot)]
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
