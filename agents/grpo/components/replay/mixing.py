"""Replay of whole groups: groups of earlier batches next to fresh ones or in place of them."""

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
    """Train on the fresh groups only; store nothing."""

    def __init__(self) -> None:
        super().__init__(capacity=1)

    def mix(self, groups: Sequence[Group], step: int, rng: np.random.Generator) -> list[Group]:
        return list(groups)


@REPLAYS.register("mix_policy")
class MixPolicy(Replay):
    """Replace each group of the batch with ``probability`` by a group that one of the last policies sampled (ReMix,
    arXiv 2507.06892, section 4.1).

    The batch contains ``utd`` (updates to data) slots for each fresh group; set the recipe's number of minibatches to
    ``utd`` as well. A slot that is not replayed holds its fresh group. For a replayed slot, one of the last ``window``
    batches is drawn first, then a group of that batch, both uniformly.
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
                # Draw numbers for every group, used or not, so that one group's outcome never shifts later draws.
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
    """Train on the fresh groups and replay the newest and least used ones: priority = step - ``decay`` x uses + noise,
    dropped after ``uses`` uses (R3L, arXiv 2601.03715; released code).

    Args:
        ratio: number of replayed groups per fresh one.
        noise: standard deviation of the Gaussian noise added to each priority.
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
