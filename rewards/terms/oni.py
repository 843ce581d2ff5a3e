"""Intrinsic reward from captions that a slow annotator labels while training goes on (ONI, retrieval mode).

An episode never waits: a caption without a label pays nothing and is queued, and the labels are there the next time.
The modes that train a classifier or a ranker on the labels belong to the reward models.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...checks import check_count, check_number
from ...errors import InputError
from ..episode import Episode, Step
from ..reward import StepReward, register

Annotator = Callable[[Sequence[str]], Mapping[str, float]]
"""Captions -> labels of those that it could judge; the others stay queued."""


@register("oni")
class CaptionRewards(StepReward):
    """``extrinsic * reward + intrinsic * label(caption) / count ** exponent`` for each step.

    The count is that of the caption within the episode, this step included. Without an annotator, or before it has
    labelled anything, only the extrinsic part is paid.

    Args:
        annotator: labels queued captions, in [0, 1] by custom; it is called by `advance`, between two updates. None
            leaves the queue to the caller: read `queue`, hand in answers with `label`.
        extrinsic: weight of the environment's reward; the paper takes 0.1 with a dense score and 10 with a sparse one.
        intrinsic: weight of the labels.
        exponent: 3 in the released code.
        caption: from a step to its caption ("" for none); by default the text of the observation.
        capacity: at most so many captions are queued or labelled; later ones pay nothing.
    """

    paper = "ONI, arXiv 2410.23022"
    complete = True

    def __init__(
        self,
        annotator: Annotator | None = None,
        extrinsic: float = 0.1,
        intrinsic: float = 0.4,
        exponent: float = 3.0,
        caption: Callable[[Step], str] = lambda step: str(step.observation),
        capacity: int = 100_000,
    ):
        self.annotator = annotator
        self.extrinsic = check_number("extrinsic", extrinsic)
        self.intrinsic = check_number("intrinsic", intrinsic)
        self.exponent = check_number("exponent", exponent, low=0.0)
        self.caption = caption
        self.capacity = check_count("capacity", capacity, low=1, unit="captions")
        self._labels: dict[str, float] = {}
        self._queue: dict[str, None] = {}

    @property
    def queue(self) -> tuple[str, ...]:
        """Captions that were met and have no label yet, each once, in the order in which they were met."""
        return tuple(self._queue)

    def label(self, labels: Mapping[str, float]) -> None:
        """Take in labels; they leave the queue.

        Raises:
            InputError: a label that is not finite.
        """
        for caption, value in labels.items():
            self._labels[caption] = check_number(f"the label of {caption[:80]!r}", value)
            self._queue.pop(caption, None)

    def values(self, episode: Episode) -> list[float]:
        seen: Counter[str] = Counter()
        paid = []
        for step in episode.steps:
            caption = self.caption(step)
            seen[caption] += 1
            paid.append(self.extrinsic * step.reward + self.intrinsic * self._worth(caption, seen[caption]))
        return paid

    def _worth(self, caption: str, count: int) -> float:
        if caption in self._labels:
            return self._labels[caption] / count**self.exponent
        if caption and len(self._labels) + len(self._queue) < self.capacity:
            self._queue[caption] = None
        return 0.0

    def advance(self, step: int, steps: int) -> None:
        if self.annotator is not None and self._queue:
            self.label(self.annotator(self.queue))
        super().advance(step, steps)

    def state_dict(self) -> dict[str, Any]:
        return {"labels": dict(self._labels), "queue": list(self._queue)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if set(state) != {"labels", "queue"}:
            raise InputError(f"the saved state of {self.name!r} holds 'labels' and 'queue', not {sorted(state)}.")
        self._labels, self._queue = dict(state["labels"]), dict.fromkeys(state["queue"])
