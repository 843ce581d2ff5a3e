"""Training on unsolved prompts only: those whose latest greedy answer was wrong (SELF, arXiv 2510.02230).

Reinforcing what a model already answers right sharpens it there and takes coverage from elsewhere; the paper decodes
each prompt of a step greedily and drops those that come out right. Here an attempt is a proposal of one evaluation
episode, and only what failed it is proposed for training.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from ...checks import check_share
from ..protocol import Common
from ..registration import register
from .screening import StreamTeacher


@register("greedy-fail")
class GreedyFail(StreamTeacher):
    """Probes prompts with one greedy attempt each and trains on those that failed it.

    A probe is a proposal of n=1 with ``train=False`` and ``meta={"greedy": True}``, in shuffled passes over the list. A
    failed prompt waits for its turn, is proposed once for training, and is then probed again with the others: samples
    drawn in training are no evidence about the greedy answer. Failed prompts come first in a batch, probes fill the
    rest, so that a student who solves everything is only ever evaluated.

    Args:
        space, bins: see `PromptTeacher`.
        n: rollouts of a training proposal; the paper has 8.
        solved: an attempt failed where its success (or its return mapped to [0, 1], where the environment does not
            report success) is below this.
        seed, return_range, max_in_flight: see `Teacher`.

    Raises:
        InputError: an option out of range.
    """

    paper = "2510.02230"

    def __init__(
        self,
        space: Any,
        *,
        n: int = 8,
        solved: float = 1.0,
        bins: int | Sequence[int] | None = None,
        **common: Unpack[Common],
    ):
        self.solved = check_share("solved", solved, positive=True)
        super().__init__(space, screen=1, n=n, bins=bins, settings={"solved": self.solved}, **common)

    def _take_rate(self, task: int, rate: float, ids: list[int]) -> None:
        self.queue.pop(task, None)
        if rate < self.solved:
            self.queue[task] = ids

    def _draw_fields(self, index: int) -> dict[str, Any]:
        advice = super()._draw_fields(index)
        return {**advice, "meta": {}} if advice["train"] else {**advice, "meta": {"greedy": True}}

    def _metrics(self) -> dict[str, float]:
        return {**super()._metrics(), "waiting": len(self.queue)}
