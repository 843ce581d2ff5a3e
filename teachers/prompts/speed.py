"""SPEED: screen each prompt with a few rollouts, and train only on prompts that were neither always nor never solved
(arXiv 2506.09016)."""

from __future__ import annotations

from ...checks import option
from ...errors import InputError
from ..registration import register
from ..saved_state import Kept
from .screening import StreamTeacher


@register("speed")
class SPEED(StreamTeacher):
    """Screens prompts with a few rollouts and trains on prompts whose pass rate lies strictly between two bounds.

    A prompt that passes is proposed again for ``n`` more rollouts before further prompts are screened, in the order of
    passing. ``meta["joins"]`` of that proposal holds the ids of its screening proposals: the learner adds the screening
    rollouts to the group, as the paper trains on both together.
    """

    paper = "2506.09016"
    when = (
        "Rollouts are the bottleneck and many prompts teach nothing: a few rollouts decide whether the rest of the "
        "group is played."
    )
    kept = (Kept(("_passed", "_screened"), key="passed"),)
    screen: int = 4  # screen and n are our choice: 24 rollouts in all
    n: int = 20
    low: float = option(
        default=0.0,
        low=0,
        high=1,
        says="lower end of the open interval of pass rates that are trained on; 0 to 1 leaves out groups without "
        "variance.",
    )
    high: float = option(
        default=1.0, low=0, high=1, says="upper end of the open interval of pass rates that are trained on."
    )

    def setup(self) -> None:
        if self.low >= self.high:
            raise InputError(f"low={self.low:g} must be below high={self.high:g}.")
        super().setup()
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
