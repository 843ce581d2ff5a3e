"""Gates: predicates on a played group that decide whether the learner trains on it.

A teacher receives every outcome; a gate only selects the groups for the gradient. `Gates` combines several: it admits a
group if every gate admits it, and calls every gate on each outcome, so that counts of refusals do not depend on order.

    gates = Gates({"band": PassRateBand(0.2, 0.8), "spread": AdvantageRange()})
    trained = [outcome for outcome in outcomes if gates(outcome)]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError
from .protocol import Outcome
from .signals import EPSILON

Gate = Callable[[Outcome], bool]


@dataclass(frozen=True)
class PassRateBand:
    """Admit groups whose success rate lies in the open band; (0, 1) is DAPO's dynamic sampling (arXiv 2503.14476,
    section 3.2), (0.2, 0.8) a band of online difficulty filtering (arXiv 2504.03380). Without success flags, the mean
    return is used as the success rate.

    Raises:
        InputError: the band is empty or leaves [0, 1]. When called: successes are unknown, and a return leaves [0, 1].
    """

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.low < self.high <= 1:
            raise InputError(f"the band ({self.low}, {self.high}) must satisfy 0 <= low < high <= 1.")

    def __call__(self, outcome: Outcome) -> bool:
        flags = outcome.returns if outcome.successes is None else outcome.successes
        if outcome.successes is None and flags and not 0 <= min(flags) <= max(flags) <= 1:
            wrong = min(flags) if min(flags) < 0 else max(flags)
            raise InputError(f"a return of {wrong:g} is no success rate; report successes, or returns in [0, 1].")
        return bool(flags) and self.low < float(np.mean(flags)) < self.high


@dataclass(frozen=True)
class AdvantageRange:
    """Refuse a group whose normalised advantages (r - mean) / std all lie in [low, high], or that has no returns.

    The defaults refuse only groups whose returns are all equal.
    """

    low: float = 0.0
    high: float = 0.0

    def __call__(self, outcome: Outcome) -> bool:
        returns = np.asarray(outcome.returns)
        if not returns.size:
            return False
        advantages = (returns - returns.mean()) / (returns.std() + EPSILON)
        # Rounding must not let a group of equal returns through.
        return not ((advantages >= self.low - EPSILON) & (advantages <= self.high + EPSILON)).all()


class Gates:
    """Admit a group if every gate admits it.

    Args:
        gates: name -> gate; `metrics` reports under these names.
    """

    def __init__(self, gates: Mapping[str, Gate]):
        self._gates = dict(gates)
        self._seen = 0
        self._refused = dict.fromkeys(self._gates, 0)

    def __call__(self, outcome: Outcome) -> bool:
        verdicts = {name: bool(gate(outcome)) for name, gate in self._gates.items()}
        self._seen += 1
        for name, admitted in verdicts.items():
            self._refused[name] += not admitted
        return all(verdicts.values())

    def metrics(self) -> dict[str, float]:
        """Return the number of outcomes seen and the share that each gate refused."""
        seen = max(self._seen, 1)
        return {"seen": float(self._seen), **{f"{name}/refused": n / seen for name, n in self._refused.items()}}

    def state_dict(self) -> dict[str, Any]:
        return {"seen": self._seen, "refused": dict(self._refused)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the counts of `state_dict`. Raises InputError if the gates of the state have other names."""
        if set(state.get("refused", ())) != set(self._gates):
            raise InputError(f"the saved gates {sorted(state.get('refused', ()))} are not {sorted(self._gates)}.")
        self._seen, self._refused = int(state["seen"]), {name: int(n) for name, n in state["refused"].items()}
