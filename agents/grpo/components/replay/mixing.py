"""Replay of whole groups: groups of earlier batches in addition to fresh ones, or in their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .....checks import check_count, check_number
from ...batch.trajectory import Group
from ...recipes.stages import REPLAYS
from .memory import Replay


@REPLAYS.register("none")
class NoReplay(Replay):
    """Nothing is remembered."""

    def __init__(self) -> None:
        super().__init__(capacity=1)

    def mix(self, groups: Sequence[Group], step: int, rng: np.random.Generator) -> list[Group]:
        return list(groups)


@REPLAYS.register("mix_policy")
class MixPolicy(Replay):
    """Each place of a batch goes with ``probability`` to a group of one of the last policies (ReMix, arXiv 2507.06892,
    section 4.1).

    The batch has ``utd`` (updates to data) places for each fresh group; take as many minibatches. A place that is not
    replayed has its fresh group. A replayed one first draws which of the last ``window`` batches, then a group of it,
    both uniformly.
    """

    def __init__(self, probability: float = 0.4, window: int = 2, utd: float = 2, capacity: int = 4096):
        super().__init__(capacity)
        self.probability = check_number("probability", probability, 0.0, 1.0)
        self.window = check_count("window", window, 1, "batches")
        self.utd = check_number("utd", utd, 1.0)

    def mix(self, groups: Sequence[Group], step: int, rng: np.random.Generator) -> list[Group]:
        recent = sorted({kept.step for kept in self._kept})[-self.window :]
        batches = [[kept.group for kept in self._kept if kept.step == when] for when in recent]
        mixed = []
        for _ in range(round(self.utd)):
            for fresh in groups:
                # Draw the same numbers for every group, used or not, so that no group shifts the next one's draw.
                replayed, which = rng.random(), rng.random(2)
                if not batches or replayed >= self.probability:
                    mixed.append(fresh)
                    continue
                batch = batches[int(which[0] * len(batches))]
                mixed.append(batch[int(which[1] * len(batch))])
        self._remember(groups, step)
        self._kept = [kept for kept in self._kept if kept.step > step - self.window]
        return mixed


@REPLAYS.register("priority")
class Priority(Replay):
    """The newest and least used groups again: priority = step - ``decay`` x uses + noise, forgotten after ``uses`` uses
    (R3L, arXiv 2601.03715; released code).

    Args:
        ratio: replayed groups for each fresh one.
        noise: standard deviation of a Gaussian number added to each priority.
    """

    def __init__(self, ratio: float = 1.0, uses: int = 3, decay: float = 2.0, noise: float = 0.0, capacity: int = 4096):
        super().__init__(capacity)
        self.ratio = check_number("ratio", ratio, 0.0)
        self.uses = check_count("uses", uses, 1)
        self.decay = check_number("decay", decay, 0.0)
        self.noise = check_number("noise", noise, 0.0)

    def mix(self, groups: Sequence[Group], step: int, rng: np.random.Generator) -> list[Group]:
        noise = self.noise * rng.standard_normal(len(self._kept))
        priority = [kept.step - self.decay * kept.uses + extra for kept, extra in zip(self._kept, noise, strict=True)]
        ranked = sorted(range(len(self._kept)), key=lambda i: (-priority[i], i))
        taken = set(ranked[: round(self.ratio * len(groups))])
        again = [self._kept[i].group for i in ranked if i in taken]
        counted = [replace(kept, uses=kept.uses + 1) if i in taken else kept for i, kept in enumerate(self._kept)]
        self._kept = [kept for kept in counted if kept.uses < self.uses]
        self._remember(groups, step)
        return [*groups, *again]
