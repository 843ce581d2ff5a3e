"""SEC, self-evolving curriculum: a bandit over categories, rewarded by the mean absolute advantage of a category
(arXiv 2505.14970, sections 3.1 and 3.2).

For binary returns normalised within the group, the mean |advantage| is 2 sqrt(p(1-p)): largest where the student
succeeds half of the time. The teacher computes it from the returns, so that a learner's own normalisation does not
matter.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from ...checks import check_choice, check_number, option
from ..protocol import Evidence
from ..registration import register
from ..sampling import softmax
from ..saved_state import Kept
from ..signals import Groups, mean_absolute_advantage, mean_absolute_deviation
from .arm_teacher import ArmTeacher


def _check_tau(name: str, value: Any) -> Any:
    return check_choice(name, value, ("arms",)) if isinstance(value, str) else check_number(name, value, above=0)


@register("sec")
class SEC(ArmTeacher):
    """Self-evolving curriculum.

    Each `observe` is one batch: for every arm c in it, Q(c) <- alpha r(c) + (1 - alpha) Q(c), where r(c) is the mean of
    `objective` over the arm's returns. Arms are drawn independently from softmax(Q / tau).

    A group of one has no advantage. Where outcomes carry single returns (`TeacherWrapper`, `update`), an arm's returns
    are collected until `group` of them make a group, and the arm is updated then.
    """

    paper = "2505.14970"
    when = (
        "A few environments or categories and groups of samples, as in GRPO: it prefers the category with the largest "
        "advantages. A good first choice for arms."
    )
    kept = ("q", Kept("_groups", key="waiting"), Kept("_last_mean", dict[int, float]))
    alpha: float = option(
        default=0.5,
        above=0,
        high=1,
        says="step size of Q. The paper's runs use 0.5, the released code's default is 0.1.",
    )
    tau: float | Literal["arms"] = option(
        default=1.0,
        check=_check_tau,
        says="temperature. The paper uses 1.0 (Countdown), 0.4 (mathematics), 0.2 (types x difficulties). As mean "
        '|A| is at most 1, tau = 1 keeps every ratio of probabilities below e. "arms" sets it by the number of'
        " arms N (our addition): tau = 1 / log(9 (N - 1)), under which an arm with Q = 1 among others with Q ="
        " 0 gets 9 of 10 draws for any N (0.28 for 5, 0.19 for 25).",
    )
    objective: Literal["advantage", "deviation", "progress"] = option(
        default="advantage",
        says='reward of an arm: "advantage", mean |advantage| of its groups; "deviation", mean |r - mean| without '
        'normalisation; "progress", the mean return minus the arm\'s mean return in its last batch.',
    )
    absent: Literal["hold", "decay"] = option(
        default="hold",
        says='update of arms that are not in a batch: "hold" keeps Q, as in the paper\'s text; "decay" gives them r '
        "= 0, as in the released code.",
    )
    group: int = option(default=8, low=2, says="number of single returns that make a group.")

    def setup(self) -> None:
        super().setup()
        self.temperature = 1 / math.log(9 * max(self.arms.n - 1, 1)) if self.tau == "arms" else self.tau
        self.q = np.zeros(self.arms.n)
        self._groups = Groups(self.group)
        self._last_mean: dict[int, float] = {}  # an arm's mean return in its last batch, for "progress"

    def _probabilities(self) -> np.ndarray:
        return softmax(self.q, self.temperature)

    def _values(self) -> np.ndarray:
        return self.q

    def _learn(self, evidence: list[Evidence]) -> None:
        present: dict[int, list[np.ndarray]] = {}
        for item in evidence:
            arm = int(item.record)
            group = item.returns if self.objective == "progress" else self._groups.add(arm, item.returns)
            present.setdefault(arm, []).extend([] if group is None else [group])
        targets = np.zeros(len(self.q))
        updated = np.full(len(self.q), self.absent == "decay")
        for arm, groups in present.items():
            updated[arm] = bool(groups)  # an arm whose group is still incomplete is neither rewarded nor decayed
            if groups:
                targets[arm] = self._reward(arm, groups)
        self.q = np.where(updated, self.alpha * targets + (1 - self.alpha) * self.q, self.q)

    def _reward(self, arm: int, groups: list[np.ndarray]) -> float:
        if self.objective == "progress":
            mean = float(np.concatenate(groups).mean())
            previous = self._last_mean.get(arm, mean)  # an arm's first batch shows no progress yet
            self._last_mean[arm] = mean
            return mean - previous
        signal = mean_absolute_advantage if self.objective == "advantage" else mean_absolute_deviation
        return float(np.average([signal(returns) for returns in groups], weights=[len(returns) for returns in groups]))
