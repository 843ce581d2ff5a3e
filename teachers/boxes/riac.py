"""RIAC: a tree of regions, split where learning progress differs, practised where it is high.

Baranes and Oudeyer (R-IAC, IEEE TAMD 2009; SAGG-RIAC, Robotics and Autonomous Systems 2013, arXiv 1301.4862), in the
form and with the constants of the code of Portelas et al. (arXiv 1910.07224). The progress of a region is the absolute
difference between the mean returns of the older and the newer half of its last tasks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from ...checks import option
from ...errors import InputError
from ..protocol import Evidence
from ..registration import Preset, register
from ..sampling import pick, proportional
from .box_teacher import BoxTeacher
from .ladder import SMALLEST, per_axis, take_per_axis
from .region_tree import RegionTree, best_cut

EDGE = 1e-5  # a mutated task stays this share of its region's width away from the borders, as in the authors' code


@register("riac")
class RIAC(BoxTeacher):
    """Robust intelligent adaptive curiosity: a tree of regions weighted by absolute learning progress.

    Every region, parents included, keeps its last `region_size` + 1 tasks. A leaf that holds more than `region_size` is
    split by the best of `attempts` random cuts, or loses its oldest tasks where no cut is allowed. Tasks come uniformly
    from a region drawn by progress; uniformly from the whole space; or near the worst task of a region drawn by
    progress. Cuts that leave too few tasks on one side are never drawn; the authors' code redraws them, which never
    ends if all tasks are equal. As in the authors' code, a cut is made even if both sides have equal progress, which
    refines a region whose returns are all equal.
    """

    paper = "1301.4862"
    when = (
        "A continuous space with few axes in which progress differs from region to region. It adapts its regions, and "
        "also returns to the worst tasks."
    )
    region_size: int = option(default=200, low=4, says="tasks that a leaf holds before it is split.")
    attempts: int = option(default=50, low=1, says="number of random cuts tried per split.")
    score: Literal["intended", "released"] = option(
        default="intended",
        says='criterion of the best cut: "intended", n1 n2 |ALP1 - ALP2| with the numbers of tasks on both sides; '
        '"released", |ALP1 - ALP2| alone, which is the effect of the authors\' code.',
    )
    min_share: float = option(
        default=1 / 20, low=0, high=1, says="least share of `region_size` on either side of a cut."
    )
    min_side: float = option(default=1 / 15, low=0, high=1, says="least side of a region, as a share of the axis.")
    discard: float = option(
        default=1 / 4, above=0, high=1, says="share of `region_size` that a leaf forgets where it cannot be split."
    )
    random_share: float = option(default=0.2, low=0, high=1, says="share of uniform tasks.")
    mutate_share: float = option(
        default=0.1, low=0, high=1, says="share of mutated tasks: the worst task of a region plus noise."
    )
    sigma: float | Sequence[float] = option(
        default=0.1,
        check=take_per_axis,
        says="standard deviation of a mutation as a share of the axis, one for all axes or one per axis.",
    )
    max_regions: int = option(
        default=1024, low=1, says="number of regions after which splitting stops; bounds the memory (a choice of ours)."
    )

    def setup(self) -> None:
        if self.random_share + self.mutate_share > 1:
            raise InputError(
                f"random_share={self.random_share:g} and mutate_share={self.mutate_share:g} must sum to at most 1."
            )
        super().setup()
        d = self.cube.dimension
        self._sigma = per_axis("sigma", self.sigma, d)
        if self._sigma.min() <= 0:
            raise InputError(f"sigma={self.sigma!r} must be positive.")
        self._fewest = max(1, math.ceil(self.region_size * self.min_share - 1e-9))
        self._tree = RegionTree(d, self.region_size)

    @property
    def tree(self) -> RegionTree:
        """Tree of the regions, with their boxes and progress."""
        return self._tree

    def _points(self, k: int) -> tuple[np.ndarray, np.ndarray | float, Sequence[str] | str]:
        tree, d = self._tree, self.cube.dimension
        mode, points = self._rng.random(k), self._rng.random((k, d))
        if tree.empty:
            return points, 1.0, "warmup"
        weights = proportional(tree.progress)
        chosen = pick(weights, k, self._rng)
        low, width = tree.low[chosen], (tree.high - tree.low)[chosen]
        mutated = mode < self.mutate_share
        regional = mode >= self.mutate_share + self.random_share
        points[regional] = (low + points * width)[regional]
        clipped = np.zeros(k, dtype=bool)
        if mutated.any():
            drawn = tree.worst[chosen] + self._sigma * self._rng.standard_normal((k, d))
            inside = np.clip(drawn, low + EDGE * width, low + (1 - EDGE) * width)
            clipped = mutated & (inside != drawn).any(1)
            points[mutated] = inside[mutated]
        density = self._density(points, weights)
        density[clipped] = np.nan  # clipping moves mass onto the border of the region
        origins = np.where(mutated, "replay", np.where(regional, "exploit", "explore"))
        return points, density, origins.tolist()

    def _density(self, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
        # Arrays of axes x points x regions: reducing the first axis costs a fraction of reducing the last.
        tree, x = self._tree, points.T[:, :, None]
        low, high, worst = (np.ascontiguousarray(part.T)[:, None] for part in (tree.low, tree.high, tree.worst))
        inside = ((x >= low) & (x <= high)).all(0)
        away = np.square((x - worst) / self._sigma[:, None, None]).sum(0)
        scale = float(np.prod(self._sigma * math.sqrt(2 * math.pi)))
        scale = scale if scale > SMALLEST else math.nan
        exploit = (1 - self.random_share - self.mutate_share) / (tree.high - tree.low).prod(1)
        return self.random_share + (inside * (exploit + self.mutate_share / scale * np.exp(-0.5 * away))) @ weights

    def _learn(self, evidence: list[Evidence]) -> None:
        for item in evidence:
            full = self._tree.add(item.record, item.mean)
            if full is not None:
                self._split(full)

    def _split(self, leaf: int) -> None:
        cut = None
        if self._tree.n + 2 <= self.max_regions:
            cut = best_cut(
                self._tree,
                leaf,
                self._rng,
                attempts=self.attempts,
                fewest=self._fewest,
                min_side=self.min_side,
                by_population=self.score == "intended",
            )
        if cut is None:
            self._tree.drop(leaf, max(1, int(self.region_size * self.discard)))
        else:
            self._tree.split(leaf, *cut)

    def _metrics(self) -> dict[str, float]:
        return {"regions": float(self._tree.leaves), "progress": float(self._tree.progress[0])}

    def _save(self) -> dict[str, Any]:
        return {"regions": self._tree.save()}

    def _restore(self, own: Mapping[str, Any]) -> None:
        self._tree = RegionTree.restore(own["regions"], self.cube.dimension, self.region_size)


Preset(
    "riac-tma",
    RIAC,
    "RIAC with the defaults of the TeachMyAgent benchmark.",
    "2103.09815",
    when="Runs that are to be compared with figures of the TeachMyAgent benchmark.",
    region_size=150,
    attempts=75,
    min_side=0.1,
    score="released",
)
