"""PuzzleCraft / PC-GRPO (arXiv 2512.14944): prompts of medium difficulty to which the student gives many different
answers.

The weight of a group is 4 d(1-d) sqrt(d_pi), with d its mean reward and d_pi the dispersion of its answers. In the
paper the weight multiplies the group's loss. A teacher has the same effect in expectation by sampling prompts in
proportion to their weights, or it passes the weight on to the learner. `group_weight` serves learners that weigh the
current group.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from ...checks import option
from ...errors import InputError
from ..protocol import Evidence, Outcome
from ..registration import Preset, register
from ..sampling import draw_without_replacement
from ..signals import Groups
from .prompt_teacher import PromptTeacher


@register("puzzlecraft")
class PuzzleCraft(PromptTeacher):
    """Weighs prompts by difficulty times dispersion of the answers in their latest group.

    The dispersion is the extra "answer_dispersion", in [0, 1], averaged over the group: the entropy of the answers over
    the logarithm of their possible number, or the share of different permutations. Without the extra the dispersion is
    1, and the weight depends on difficulty alone, as in the paper's first version. An unseen prompt has weight 1, the
    highest weight at the paper's `scale`.

    With ``rac`` the teacher also monitors the consistency of reasoning and answer: the metric "rac" is the moving
    average of the extra "consistency", a judge's probability that the rationale supports the answer. The metric has no
    effect on weights.
    """

    paper = "2512.14944"
    when = "Puzzles with graded rewards and many possible answers: medium difficulty and varied answers are preferred."
    uses = frozenset({"answer_dispersion"})
    asks = frozenset({"weight"})
    kept = ("weights", "_groups", "_dispersions")
    mode: Literal["sample", "weight"] = option(
        default="sample",
        says='"sample" draws prompts in proportion to their weights; "weight" draws them uniformly and passes the '
        'weight as ``meta["weight"]``.',
    )
    scale: float = option(default=4.0, above=0, says="lambda, factor of the weight.")
    gamma: float = option(default=0.5, low=0, says="exponent of the dispersion.")
    floor: float = option(
        default=0.1,
        low=0,
        high=1,
        says='share of proposals that are uniform in mode "sample", so that a prompt of weight 0 is seen again.',
    )
    group: int = option(default=8, low=2, says="number of single returns that make a group; the paper has 8.")
    rac: int = option(
        default=0,
        saved=False,
        says="number of episodes in the moving average of the consistency; 0 disables the monitor.",
    )

    def setup(self) -> None:
        self.asks = frozenset({"weight"}) if self.mode == "weight" else frozenset()
        self.settings = {"rac": self.rac} if self.rac else {}  # so that states without it still load
        super().setup()
        self.weights = np.ones(self.pool.n)
        self._groups, self._dispersions = Groups(self.group), Groups(self.group)
        self.needs = frozenset({"consistency"} if self.rac else ())
        self._consistencies: deque[float] = deque(maxlen=self.rac)

    def distribution(self) -> np.ndarray:
        n, total = self.pool.n, self.weights.sum()
        if self.mode == "weight" or total == 0:
            return np.full(n, 1 / n)
        return (1 - self.floor) * self.weights / total + self.floor / n

    def _choose(self, k: int) -> tuple[np.ndarray, np.ndarray, str]:
        with np.errstate(divide="ignore"):
            return *draw_without_replacement(np.log(self.distribution()), k, self._rng), "exploit"

    def _draw_fields(self, index: int) -> dict[str, Any]:
        return {"meta": {"weight": float(self.weights[index])}} if self.mode == "weight" else {}

    def observe(self, outcomes: Sequence[Outcome]) -> None:
        for outcome in outcomes:
            _check_dispersion(outcome.extras, f" of outcome {outcome.id}")
        super().observe(outcomes)

    def update(
        self,
        task: Any,
        ret: float | Sequence[float],
        *,
        successes: Sequence[bool] | None = None,
        cost: float | None = None,
        extras: Mapping[str, Sequence[float]] | None = None,
    ) -> None:
        _check_dispersion(extras or {})
        super().update(task, ret, successes=successes, cost=cost, extras=extras)

    def _learn(self, evidence: list[Evidence]) -> None:
        for item in evidence:
            self._consistencies.extend(item.outcome.extras.get("consistency", ()))
            given = np.array(item.outcome.extras.get("answer_dispersion", np.ones(len(item.returns))))
            task = int(item.record)
            returns, dispersions = self._groups.add(task, item.returns), self._dispersions.add(task, given)
            if returns is not None and dispersions is not None:
                dispersion = float(dispersions.mean())
                self.weights[task] = group_weight(returns, dispersion, scale=self.scale, gamma=self.gamma)

    def _metrics(self) -> dict[str, float]:
        seen = self._consistencies
        return {
            "mean_weight": float(self.weights.mean()),
            "idle": float((self.weights <= 1e-9).mean()),
            **({"rac": math.fsum(seen) / len(seen)} if seen else {}),
        }

    def _save(self) -> dict[str, Any]:
        seen = {"consistencies": list(self._consistencies)} if self._consistencies else {}
        return {**super()._save(), **seen}

    def _restore(self, own: Mapping[str, Any]) -> None:
        super()._restore(own)
        self._consistencies = deque(map(float, own.get("consistencies", ())), self._consistencies.maxlen)


def _check_dispersion(extras: Mapping[str, Sequence[float]], whose: str = "") -> None:
    if any(not 0 <= value <= 1 for value in extras.get("answer_dispersion", ())):
        raise InputError(f"answer_dispersion{whose} lies outside [0, 1]; normalise it.")


def group_weight(returns: np.ndarray, dispersion: float = 1.0, *, scale: float = 4.0, gamma: float = 0.5) -> float:
    """Return scale d(1-d) dispersion^gamma, with d the mean return in [0, 1] (arXiv 2512.14944, section 3.3)."""
    d = float(np.mean(returns))
    return scale * d * (1 - d) * dispersion**gamma


Preset(
    "pc-grpo",
    PuzzleCraft,
    "Uniform prompts, each with the weight of its group in the loss (PC-GRPO).",
    "2512.14944",
    when="As `puzzlecraft`, where prompts must stay uniform and the learner can weigh groups.",
    mode="weight",
)
