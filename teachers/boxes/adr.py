"""ADR, automatic domain randomisation: a box that grows where the student succeeds at its walls (OpenAI et al.,
"Solving Rubik's Cube with a Robot Hand", arXiv 1910.07113, section 4.2 and algorithm 1).

Tasks are uniform in a box around one starting point. A share of them is put onto one wall of the box. Once a wall has
seen enough episodes it moves out, moves in, or stays, by the mean performance of these episodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from ...checks import check_numbers, option
from ...errors import InputError
from ..pools import task_key
from ..protocol import Draw, Evidence, Teacher
from ..registration import register
from ..signals import success_counts
from ..spaces import as_cube
from .ladder import from_hardness, per_axis, take_per_axis

NARROWEST = 1e-6  # lower bound of an axis's width in the entropy, so that its logarithm is finite


@register("adr")
class ADR(Teacher):
    """Automatic domain randomisation: a box of tasks whose walls move by the performance measured at them.

    The record of a proposal holds the wall that its task tests. The wall is not inferred from the coordinates, so that
    on an axis whose two walls coincide an outcome counts for one wall only. A wall that has moved since the proposal
    ignores the outcome. `sample` stores the wall of the last sampled task for `update`.
    """

    kind = "box"
    paper = "1910.07113"
    when = (
        "A simulator whose parameters start at one known point and are to be varied ever more widely, each axis at "
        "its own pace."
    )
    kept = ("walls", "_tested", "_moves")
    space: Any = option(kw_only=False, saved=False, says="ParamSpace, Box or Discrete.")
    start: Sequence[float] | None = option(
        default=None,
        check=lambda name, value: list(check_numbers(name, value)),
        says="initial point of the box, as shares of the axes; None is the easiest corner.",
    )
    boundary_share: float = option(
        default=0.5,
        low=0,
        high=1,
        says="probability that a task tests a wall; 0.5 in the paper (from memory) and in TeachMyAgent's code.",
    )
    episodes: int = option(
        default=10, low=1, says="episodes that a wall collects before it is judged; 10 in TeachMyAgent."
    )
    step: float | Sequence[float] = option(
        default=0.05,
        check=take_per_axis,
        says="distance that a wall moves, as a share of the axis, one or one per axis. The papers give absolute "
        "steps; 0.05 is ours.",
    )
    low: float = option(
        default=0.3, low=0, high=1, says="mean performance at or below which a wall moves in (TeachMyAgent's 0)."
    )
    high: float = option(
        default=0.66,
        low=0,
        high=1,
        says="mean performance at or above which a wall moves out (TeachMyAgent's 180, between -150 and 350).",
    )
    measure: Literal["success", "return"] = option(
        default="success",
        says='performance that is judged: "success" is the success rate, or returns mapped to [0, 1] if the '
        'environment does not report success; "return" is always returns mapped to [0, 1].',
    )

    def setup(self) -> None:
        if self.low >= self.high:
            raise InputError(f"low={self.low:g} must be smaller than high={self.high:g}.")
        self.cube = self.domain = as_cube(self.space)
        self.begin(self.cube.signature)
        d = self.cube.dimension
        self._step = per_axis("step", self.step, d)
        if not (self._step > 0).all():
            raise InputError(f"step={self.step!r} must be positive.")
        point = from_hardness(self.cube, np.zeros(d)) if self.start is None else per_axis("start", self.start, d)
        if not ((point >= 0) & (point <= 1)).all():
            raise InputError(f"start={self.start!r} must lie in [0, 1] along every axis.")
        self.walls = np.stack([point, point])  # [low or high, axis]
        self._tested = np.zeros((2, d, 2))  # per wall: sum of performances, episodes
        self._moves = np.zeros((2, d), dtype=np.int64)
        self._sampled: list[Any] | None = None  # the last task of `sample`, and its record

    def _draw(self, k: int) -> list[Draw]:
        d = self.cube.dimension
        low, high = self.walls
        points = low + self._rng.random((k, d)) * (high - low)
        testing = self._rng.random(k) < self.boundary_share
        sides, axes = self._rng.integers(2, size=k), self._rng.integers(d, size=k)
        volume = float((high - low).prod())
        inside = (1 - self.boundary_share) / volume if volume > 0 else np.nan  # a wall or a point has no density
        draws = []
        for i, test in enumerate(testing):
            side, axis = int(sides[i]), int(axes[i])
            if test:
                points[i, axis] = self.walls[side, axis]
            record = [points[i].tolist(), [side, axis, int(self._moves[side, axis])] if test else None]
            task, prob = self.cube.decode(points[i]), np.nan if test else inside
            draws.append(Draw(record, task, prob, "explore" if test else "exploit"))
        return draws

    def sample(self) -> Any:
        draw = self._draw(1)[0]
        self._sampled = [task_key(draw.task), draw.record]
        return draw.task

    def _record(self, task: Any) -> list[Any]:
        point = self.cube.encode(task).tolist()
        if self._sampled is not None and self._sampled[0] == task_key(task):
            record, self._sampled = self._sampled[1], None
            return record
        return [point, None]

    def _learn(self, evidence: list[Evidence]) -> None:
        for item in evidence:
            wall = item.record[1]
            if wall is None or wall[2] != self._moves[wall[0], wall[1]]:
                continue
            side, axis = wall[0], wall[1]
            total, count = (
                success_counts(item) if self.measure == "success" else (float(item.returns.sum()), len(item.returns))
            )
            self._tested[side, axis] += total, count
            if self._tested[side, axis, 1] >= self.episodes:
                self._judge(side, axis)

    def _judge(self, side: int, axis: int) -> None:
        total, count = self._tested[side, axis]
        self._tested[side, axis] = 0.0
        mean = total / count
        if self.low < mean < self.high:
            return
        outwards = 1.0 if side else -1.0
        moved = self.walls[side, axis] + (outwards if mean >= self.high else -outwards) * self._step[axis]
        low, high = (self.walls[0, axis], 1.0) if side else (0.0, self.walls[1, axis])
        moved = min(max(moved, low), high)
        if moved != self.walls[side, axis]:
            self.walls[side, axis] = moved
            self._moves[side, axis] += 1

    def _metrics(self) -> dict[str, float]:
        """Return the volume of the box, and its entropy: the mean over axes of the log of the width, in nats."""
        width = self.walls[1] - self.walls[0]
        return {"entropy": float(np.log(np.maximum(width, NARROWEST)).mean()), "volume": float(width.prod())}

    def _save(self) -> dict[str, Any]:
        return {**super()._save(), "sampled": self._sampled}

    def _restore(self, own: Mapping[str, Any]) -> None:
        super()._restore(own)
        self._sampled = own["sampled"]
