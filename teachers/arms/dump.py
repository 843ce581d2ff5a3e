"""DUMP: an upper confidence bound on the size of recent advantages (arXiv 2504.09710).

One arm is one distribution of the training data. Large advantages mean that there is much to learn; the bonus for
rarely seen arms keeps them in play.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from ...checks import option
from ..protocol import Evidence
from ..registration import register
from ..sampling import softmax
from ..saved_state import Kept
from ..signals import EPSILON, Groups
from .arm_teacher import ArmTeacher


@register("dump")
class DUMP(ArmTeacher):
    """Distribution-level curriculum by UCB.

    L_i is the mean of arm i's last `window` values of |advantage|, and n_i the number of visits to the arm (see
    `counts`). Arms are drawn from softmax(UCB / tau) with UCB_i = L_i + sqrt(2 ln(n + 1) / (n_i + 1)) and n = sum n_i.

    If outcomes carry single returns, an arm's returns are collected until `group` of them make a group.
    """

    paper = "2504.09710"
    when = (
        "The data are a few named sets, and none of them may be forgotten: sets with large advantages are preferred, "
        "rarely seen ones get a bonus."
    )
    kept = (Kept("visits", key="counts"), Kept("_groups", key="waiting"))
    window: int = option(default=300, low=1, says="number of latest values of |advantage| stored for each arm.")
    tau: float = option(default=0.1, above=0, says="temperature, as in the released code.")
    counts: Literal["rollouts", "groups"] = option(
        default="rollouts",
        says='unit of n_i. "rollouts" is the paper\'s choice; the bonus then vanishes within a few batches. '
        '"groups" counts a group of rollouts once.',
    )
    group: int = option(default=8, low=2, says="number of single returns that make a group.")

    def setup(self) -> None:
        super().setup()
        self.visits = np.zeros(self.arms.n)
        self.levels = np.zeros(self.arms.n)  # L
        self._windows: dict[int, deque[float]] = {}
        self._groups = Groups(self.group)

    def bonuses(self) -> np.ndarray:
        """Return float64[n], sqrt(2 ln(n + 1) / (n_i + 1)) for each arm."""
        return np.sqrt(2 * np.log(self.visits.sum() + 1) / (self.visits + 1))

    def _probabilities(self) -> np.ndarray:
        return softmax(self._values(), self.tau)

    def _values(self) -> np.ndarray:
        return self.levels + self.bonuses()

    def _learn(self, evidence: list[Evidence]) -> None:
        for item in evidence:
            arm = int(item.record)
            group = self._groups.add(arm, item.returns)
            self.visits[arm] += len(item.returns) if self.counts == "rollouts" else group is not None
            if group is not None:
                advantages = np.abs(group - group.mean()) / (group.std() + EPSILON)
                window = self._windows.setdefault(arm, deque(maxlen=self.window))
                window.extend(advantages.tolist())
                self.levels[arm] = np.mean(window)

    def _save(self) -> dict[str, Any]:
        return {**super()._save(), "windows": [[arm, list(window)] for arm, window in self._windows.items()]}

    def _restore(self, own: Mapping[str, Any]) -> None:
        super()._restore(own)
        self._windows = {int(arm): deque(map(float, values), maxlen=self.window) for arm, values in own["windows"]}
        self.levels = np.zeros(self.arms.n)
        for arm, window in self._windows.items():
            self.levels[arm] = np.mean(window)
