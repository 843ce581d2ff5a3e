"""`LatentRewards`: factors of steps, and the decomposition of returns that is learned from finished episodes (LaRe).

The reward "lare" and the students' bonus "lare" share the class. All state is saved, so that a run resumes exactly.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...checks import Declared, declared, option
from ...errors import InputError
from ..design.factors import FACTOR_FUNCTIONS, compute_factors, load_factor_program, read_factor_program, step_data
from .return_decomposition import (
    Decomposable,
    LinearDecomposition,
    NetworkDecomposition,
    pack_episodes,
    unpack_episodes,
)

_log = logging.getLogger(__name__)
_KEPT = 20_000
"""Number of steps whose factors are cached, because observations recur."""


@declared
class LatentRewards(Declared):
    """Rewards of steps as a learned function of their factors, fitted so that their sum over an episode is near its
    return.

    Raises:
        InputError: a file that holds no factor program.
        MissingExtra: ``hidden`` is above 0 and torch is absent.
    """

    factors: str = option(
        default="given", says="file of a program, or a name in `palaestra.rewards.design.FACTOR_FUNCTIONS`."
    )
    runner: str = option(default="sandbox", says="a name in `palaestra.rewards.design.FACTOR_RUNNERS`, for programs.")
    hidden: int = option(default=64, says="units of both layers; 0: a linear function by least squares, without torch.")
    rate: float = option(default=1e-3, above=0, says="learning rate of `NetworkDecomposition`.")
    updates: int = option(default=4, low=1, says="gradient steps of `NetworkDecomposition` per update.")
    batch: int = option(default=16, low=1, unit="episodes", says="batch size of `NetworkDecomposition`.")
    memory: int = option(default=256, low=1, unit="episodes", says="number of latest episodes to learn from.")
    settle: int = option(default=4, says="number of episodes before the learned rewards are used.")
    seed: int = option(default=0, says="seed of the weights and batches.")

    def setup(self) -> None:
        self.source = str(self.factors)
        given = self.source in FACTOR_FUNCTIONS
        self.function = FACTOR_FUNCTIONS[self.source] if given else None
        self.program = "" if given else load_factor_program(self.factors)
        self.names: list[str] = []
        self.seen = 0
        self._model: LinearDecomposition | NetworkDecomposition | None = None
        if self.hidden:
            self._make_model(1)  # raises now if torch is missing
        self._model = None
        self._episodes: list[Decomposable] = []
        self._rng = np.random.default_rng(self.seed)
        self._known: dict[bytes, np.ndarray | None] = {}
        self._logged: set[str] = set()

    @property
    def ready(self) -> bool:
        """True once the model has learned from ``settle`` episodes."""
        return self._model is not None and self.seen >= self.settle

    def factors_of(
        self, steps: Sequence[tuple[Any, Any]], beside: Sequence[tuple[Any, Any]] = ()
    ) -> list[np.ndarray | None] | None:
        """Compute the factors [d] of each step (observation, action). An entry is None if the program failed on that
        step; the result is None if the runner failed. If the program must run at all, it also computes and caches the
        steps ``beside``, which are needed soon."""
        keys = [_digest(*step) for step in steps]
        new = {key: step for key, step in zip(keys, steps, strict=True) if key not in self._known}
        if new and self.function is None:
            further = {_digest(*step): step for step in beside}
            new |= {key: step for key, step in further.items() if key not in self._known}
        if new and not self._compute(new):
            return None
        found = [self._known[key] for key in keys]
        if len(self._known) > _KEPT:
            self._known = {}
        return found

    def _compute(self, new: Mapping[bytes, tuple[Any, Any]]) -> bool:
        if self.function is not None:
            computed = [(self.function(*step), "") for step in new.values()]
        else:
            answers = compute_factors(self.program, list(new.values()), self.runner, self.names)
            if answers is None:
                return False
            computed = [(one.factors, one.error) for one in answers]
        for key, (factors, error) in zip(new, computed, strict=True):
            if not error:
                self.names = self.names or sorted(factors)
                if sorted(factors) != self.names:
                    error = f"the factors are {sorted(factors)}, but those of the first step were {self.names}."
            if error and error not in self._logged and len(self._logged) < 20:
                self._logged.add(error)
                _log.warning("the factor program %s gives a step no reward: %s", self.source, error)
            self._known[key] = None if error else np.array([factors[name] for name in self.names])
        return True

    def predict(self, rows: Sequence[np.ndarray | None]) -> np.ndarray:
        """Return the rewards [T] of steps with these factors; 0 for steps without factors, and until `ready`."""
        rewards = np.zeros(len(rows))
        known = [(t, row) for t, row in enumerate(rows) if row is not None]
        if known and self.ready and self._model is not None:
            rewards[[t for t, _ in known]] = self._model.predict(np.stack([row for _, row in known]))
        return rewards

    def learn(self, episodes: Sequence[tuple[Sequence[np.ndarray | None], float]]) -> None:
        """Learn from the factors and returns of finished episodes. Episodes without steps, or with a step without
        factors, are left out."""
        whole: list[Decomposable] = []
        for rows, total in episodes:
            known = [row for row in rows if row is not None]
            if rows and len(known) == len(rows):
                whole.append((np.stack(known), float(total)))
        if not whole:
            return
        if self._model is None:
            self._model = self._make_model(whole[0][0].shape[1])
        self.seen += len(whole)
        self._episodes = [*self._episodes, *((rows.astype(np.float32), total) for rows, total in whole)][-self.memory :]
        self._model.learn(self._episodes, self._rng)

    def _make_model(self, width: int) -> LinearDecomposition | NetworkDecomposition:
        if not self.hidden:
            return LinearDecomposition(width)
        return NetworkDecomposition(width, self.hidden, self.rate, self.updates, self.batch, self.seed)

    def state_dict(self) -> dict[str, Any]:
        return {
            "program": self.program,
            "names": list(self.names),
            "seen": self.seen,
            "model": None if self._model is None else self._model.state_dict(),
            "episodes": pack_episodes(self._episodes),
            "rng": self._rng.bit_generator.state,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue with the saved program and network, even if the program's file has changed since."""
        wanted = {"program", "names", "seen", "model", "episodes", "rng"}
        if set(state) != wanted:
            raise InputError(f"the saved state of 'lare' holds {sorted(wanted)}, not {sorted(state)}.")
        if state["program"] != self.program:
            _log.warning("the factor program %s has changed; the run goes on with the one it began with", self.source)
            self.program, self.function = read_factor_program(state["program"]), None
        self.names, self.seen, self._known = list(state["names"]), int(state["seen"]), {}
        self._model = None
        if state["model"] is not None:
            self._model = self._make_model(len(self.names))
            self._model.load_state_dict(state["model"])
        self._episodes = unpack_episodes(state["episodes"])
        self._rng = np.random.default_rng(self.seed)
        self._rng.bit_generator.state = state["rng"]


def _digest(observation: Any, action: Any) -> bytes:
    text = json.dumps(step_data(observation, action), sort_keys=True)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
