"""SPEED: screen each prompt with a few rollouts, and only go on with one that was neither always nor never solved
(arXiv 2506.09016)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from ...checks import check_share
from ...errors import InputError
from ..protocol import Common
from ..registration import register
from .screening import StreamTeacher


@register("speed")
class SPEED(StreamTeacher):
    """Screens prompts with a few rollouts and trains on prompts whose pass rate lies strictly between two bounds.

    A prompt that passes is proposed again for ``n`` more rollouts, first come first served, before further prompts are
    screened. ``meta["joins"]`` of that proposal holds the ids of its screening proposals: the learner adds the
    screening rollouts to the group, as the paper trains on both together.

    Args:
        screen: rollouts to screen a prompt; single outcomes are collected up to this number (4 is our choice).
        n: rollouts of the training proposal (20 is our choice: 24 in all).
        low, high: the open interval of pass rates that are trained on; 0 and 1 leave out groups without variance.
        space, bins, seed, return_range, max_in_flight: see `PromptTeacher`.

    Raises:
        InputError: an option out of range.
    """

    paper = "2506.09016"

    def __init__(
        self,
        space: Any,
        *,
        screen: int = 4,
        n: int = 20,
        low: float = 0.0,
        high: float = 1.0,
        bins: int | Sequence[int] | None = None,
        **common: Unpack[Common],
    ):
        self.low, self.high = check_share("low", low), check_share("high", high)
        if self.low >= self.high:
            raise InputError(f"low={self.low:g} must be below high={self.high:g}.")
        settings = {"low": self.low, "high": self.high}
        super().__init__(space, screen=screen, n=n, bins=bins, settings=settings, **common)
        self._screened, self._passed = 0, 0

    def _take_rate(self, task: int, rate: float, ids: list[int]) -> None:
        passed = self.low < rate < self.high
        if passed:
            self.queue[task] = ids
        self._screened += 1
        self._passed += passed

    def _metrics(self) -> dict[str, float]:
        share_passed = self._passed / self._screened if self._screened else 0.0
        return {**super()._metrics(), "passed_share": share_passed, "waiting": float(len(self.queue))}

    def _save(self) -> dict[str, Any]:
        return {**super()._save(), "passed": [self._passed, self._screened]}

    def _restore(self, own: Mapping[str, Any]) -> None:
        super()._restore(own)
        self._passed, self._screened = (int(count) for count in own["passed"])
