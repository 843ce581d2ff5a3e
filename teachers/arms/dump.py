"""DUMP: an upper confidence bound on the size of recent advantages (arXiv 2504.09710).

One arm is one distribution of the training data. Where the advantages are large there is much to learn; where little
was seen there may be.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Unpack

import numpy as np

from ...checks import check_choice, check_count, check_number
from ..protocol import Common, Evidence, restore_array
from ..registration import register
from ..sampling import softmax
from ..signals import EPSILON, Groups
from .arm_teacher import ArmTeacher


@register("dump")
class DUMP(ArmTeacher):
    """Distribution-level curriculum by UCB.

    L_i is the mean of arm i's last `window` values of |advantage|, and n_i its number of visits. Arms are drawn from
    softmax(UCB / tau) with UCB_i = L_i + sqrt(2 ln(n + 1) / (n_i + 1)) and n = sum n_i.

    If outcomes carry single returns, an arm's returns are collected until `group` of them make a group.

    Args:
        space, bins, floor: see `ArmTeacher`.
        window: values of |advantage| remembered per arm.
        tau: temperature > 0; the released code's 0.1.
        counts: unit of n_i. "rollouts" is the paper's choice; the bonus then vanishes within a few batches. "groups"
            counts a group of rollouts once.
        group: single returns that make a group.
        seed, return_range, max_in_flight: see `Teacher`.

    Raises:
        InputError: an option out of range.
    """

    paper = "2504.09710"

    def __init__(
        self,
        space: Any,
        *,
        window: int = 300,
        tau: float = 0.1,
        counts: Literal["rollouts", "groups"] = "rollouts",
        group: int = 8,
        bins: int | Sequence[int] | None = None,
        floor: float = 0.0,
        **common: Unpack[Common],
    ):
        check_count("window", window, low=1)
        check_count("group", group, low=2)
        self.window, self.group = int(window), int(group)
        self.tau = check_number("tau", tau, above=0)
        self.counting = check_choice("counts", counts, ("rollouts", "groups"))
        settings = {"window": self.window, "tau": self.tau, "counts": counts, "group": self.group}
        super().__init__(space, bins=bins, floor=floor, settings=settings, **common)
        self.counts = np.zeros(self.arms.n)
        self.levels = np.zeros(self.arms.n)  # L
        self._windows: dict[int, deque[float]] = {}
        self._groups = Groups(self.group)

    def bonuses(self) -> np.ndarray:
        """float64[n]: sqrt(2 ln(n + 1) / (n_i + 1))."""
        return np.sqrt(2 * np.log(self.counts.sum() + 1) / (self.counts + 1))

    def _probabilities(self) -> np.ndarray:
        return softmax(self._values(), self.tau)

    def _values(self) -> np.ndarray:
        return self.levels + self.bonuses()

    def _learn(self, evidence: list[Evidence]) -> None:
        for item in evidence:
            arm = int(item.record)
            group = self._groups.add(arm, item.returns)
            self.counts[arm] += len(item.returns) if self.counting == "rollouts" else group is not None
            if group is not None:
                advantages = np.abs(group - group.mean()) / (group.std() + EPSILON)
                window = self._windows.setdefault(arm, deque(maxlen=self.window))
                window.extend(advantages.tolist())
                self.levels[arm] = np.mean(window)

    def _save(self) -> dict[str, Any]:
        return {
            "counts": self.counts.tolist(),
            "windows": [[arm, list(window)] for arm, window in self._windows.items()],
            "waiting": self._groups.save(),
        }

    def _restore(self, own: Mapping[str, Any]) -> None:
        self.counts = restore_array(own["counts"], self.counts)
        self._windows = {int(arm): deque(map(float, values), maxlen=self.window) for arm, values in own["windows"]}
        self.levels = np.zeros(self.arms.n)
        for arm, window in self._windows.items():
            self.levels[arm] = np.mean(window)
        self._groups.restore(own["waiting"])
