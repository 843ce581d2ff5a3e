"""Signs that a run cannot learn, and their time limits.

Every step is described by a `StepSigns`. `Health` counts for how many steps in a row each sign has lasted. It reports a
sign when it has lasted a fifth of its configured patience, and again when the patience is used up, upon which the
learner raises `DeadRun`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ....errors import shorten
from ..batch.trajectory import Group
from ..settings import Patience

CUT_SHARE = 0.95
"""Value of `StepSigns.cut`, failures cut off by a token budget, from which a step counts as truncated."""
SIGNS = ("nonfinite", "skipped", "truncated", "no_signal")
"""Signs, by the fields of `Patience`; if several end a run in the same step, the first is stated as reason."""
_REMEDIES = {
    "nonfinite": "the weights are spoilt: start again with a lower --lr",
    "skipped": "lower --lr, or relax the recipe's --guards",
    "truncated": "raise --max-new-tokens, --max-episode-tokens or --context",
    "no_signal": "take easier tasks with --axis, a longer warm-up, or more --samples",
}
_MEND = "mend the judge, reward, verifier or environment that failed"
"""Remedy for invalid episodes."""


class DeadRun(RuntimeError):
    """Error that ends a run which cannot learn; the message is one sentence with the remedy."""


@dataclass(frozen=True)
class StepSigns:
    """Signs of a run's health in one step.

    Attributes:
        skipped: True if updates were due and all were skipped.
        nonfinite: True if a loss or a gradient was not finite.
        no_signal: True if no trained token had an advantage.
        cut: share of the valid episodes that failed because a token budget cut them off.
        success: share of the valid episodes that succeeded; NaN if none was valid.
        guided: True if parts of solutions were revealed to the policy.
        invalid: share of invalid episodes.
        error: error message of the first invalid episode.
    """

    skipped: bool
    nonfinite: bool
    no_signal: bool
    cut: float
    success: float
    guided: bool = False
    invalid: float = 0.0
    error: str = ""

    @classmethod
    def of(cls, groups: Sequence[Group], metrics: Mapping[str, Any], signal: bool) -> StepSigns:
        """Derive the signs of a step from its groups and metrics.

        Args:
            signal: True if the rewards, or a stream's data, gave the update something to learn from.
        """
        valid = [t for group in groups for t in group.valid if t.turns and t.version >= 0]
        cut = [
            t.truncated and not t.success and (t.turns[-1].finish == "length" or t.action_tokens >= t.max_tokens)
            for t in valid
        ]
        count = len(valid)
        played = [t for group in groups for t in group.trajectories]
        invalid = [t for t in played if not t.valid]
        return cls(
            skipped=metrics["skipped_updates"] > 0 and metrics["updates"] == 0,
            nonfinite=bool(metrics.get("nonfinite_updates")) or not math.isfinite(metrics["loss"]),
            no_signal=not signal,
            cut=sum(cut) / count if count else 0.0,
            success=sum(t.success for t in valid) / count if count else math.nan,
            guided=any(t.guided > 0 for t in valid),
            invalid=len(invalid) / len(played) if played else 0.0,
            error=shorten(" ".join(next((t.error for t in invalid if t.error), "").split()), 300),
        )


class Health:
    """Counts of the signs over a run.

    Args:
        patience: number of steps that each sign may last.
    """

    def __init__(self, patience: Patience):
        self._patience = patience
        self._lasting: dict[str, int] = dict.fromkeys(SIGNS, 0)
        self._steps = self._informative = 0
        self._wins = self._losses = False
        self._signs: StepSigns | None = None
        self._worst_invalid = 0.0

    def observe(self, signs: StepSigns) -> list[str]:
        """Count a step. Return a sentence for each sign that has now lasted long enough to be reported."""
        self._signs = signs
        self._steps += 1
        self._informative += not signs.no_signal
        if not signs.no_signal:
            self._wins = self._losses = False
        elif not math.isnan(signs.success):
            self._wins |= signs.success > 0
            self._losses |= signs.success < 1
        present = {**vars(signs), "truncated": signs.cut >= CUT_SHARE}
        sentences = self._report_invalid(signs)
        for name in SIGNS:
            self._lasting[name] = self._lasting[name] + 1 if present[name] else 0
            patience = getattr(self._patience, name)
            if self._lasting[name] == max(1, (patience or 10) // 5):
                sentences.append(f"{self._describe(name)}; {self._advise(name)}.")
        return sentences

    def _report_invalid(self, signs: StepSigns) -> list[str]:
        """Return a sentence on the first step with invalid episodes and on the first without valid ones; else []."""
        worst, self._worst_invalid = self._worst_invalid, max(self._worst_invalid, signs.invalid)
        if signs.invalid == 0 or (worst > 0 and not signs.invalid == 1 > worst):
            return []
        share = "No episode" if signs.invalid == 1 else f"Only {math.floor(100 * (1 - signs.invalid))}% of the episodes"
        cause = f"; the first error: {signs.error.rstrip('.')}" if signs.error else ""
        rest = "" if signs.invalid == 1 else "; the others count for nothing"
        return [f"{share} of the last step could be judged{rest}{cause}; {_MEND}."]

    def verdict(self, last: bool) -> tuple[str, str] | None:
        """Return (the sign that ends the run, a sentence about it), or None if the run continues.

        Args:
            last: True in the run's last step; a run must not end with a step without finite gradients.
        """
        for name in SIGNS:
            patience, lasting = getattr(self._patience, name), self._lasting[name]
            spent = bool(patience) and (lasting >= patience or (last and name == "nonfinite" and lasting > 0))
            if spent and not (name == "no_signal" and self._all_succeed):
                option = f"--patience.{name.replace('_', '-')}"
                return name, f"{self._describe(name)}; {self._advise(name)} ({option} is {patience})."
        return None

    def conclude(self) -> list[str]:
        """Return sentences for the end of a run: one if no step had a signal, else none."""
        if self._steps and not self._informative:
            return [
                f"The model has learned nothing from rewards: in all {self._steps} steps they told no episodes of a "
                f"group apart{self._reason()}; {self._advise('no_signal')}."
            ]
        return []

    def restart(self) -> None:
        """Reset the counts of all signs."""
        self._lasting = dict.fromkeys(SIGNS, 0)

    @property
    def _all_succeed(self) -> bool:
        """True if no group has a signal because every episode succeeds, which is no failure."""
        return self._wins and not self._losses

    def _describe(self, name: str) -> str:
        assert self._signs is not None
        count = self._lasting[name]
        steps = "the last step" if count == 1 else f"the last {count} steps"
        if name == "nonfinite":
            return f"Losses or gradients were NaN or infinite in {steps}"
        if name == "skipped":
            return f"All updates of {steps} were skipped, as gradients were not finite or a guard refused them"
        if name == "truncated":
            return f"Nearly all episodes of {steps} ({self._signs.cut:.0%}) were cut off by a token budget"
        return (
            f"Rewards told no episodes of a group apart in {steps}{self._reason()}, so there is nothing to learn from"
        )

    def _reason(self) -> str:
        if not self._wins and not self._losses:
            error = "" if self._signs is None else self._signs.error.rstrip(".")
            return f", as no episode was valid ({error})" if error else ", as no episode was valid"
        if self._wins and self._losses:
            return ""
        return f", as all of them {'succeeded' if self._wins else 'failed'}"

    def _advise(self, name: str) -> str:
        if name == "no_signal" and self._all_succeed:
            return "take harder tasks with --axis"
        if name == "no_signal" and not self._wins and not self._losses and self._signs and self._signs.invalid == 1:
            return _MEND
        return _REMEDIES[name]

    # State -----------------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return the counts, JSON-able."""
        return {
            "lasting": self._lasting,
            "steps": self._steps,
            "informative": self._informative,
            "wins": self._wins,
            "losses": self._losses,
            "worst_invalid": self._worst_invalid,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._lasting = {name: int(state["lasting"][name]) for name in SIGNS}
        self._steps, self._informative = int(state["steps"]), int(state["informative"])
        self._wins, self._losses = bool(state["wins"]), bool(state["losses"])
        self._worst_invalid = float(state.get("worst_invalid", 0.0))
