"""A buffer of scored levels and its replay distribution.

P = (1 - rho) P_S + rho P_C (Prioritized Level Replay, arXiv 2010.03934, section 3): P_S grows with a level's score,
P_C with the time since it was last chosen. The first functions compute the formula on arrays. `LevelBuffer` allocates
arrays of its full capacity, sorts only scores that changed, and draws a batch in a few passes over the arrays.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

from ...checks import Declared, keyword_declared, option
from ..sampling import pick, proportional

TRANSFORMS = ("rank", "proportional", "power", "softmax", "max", "eps-greedy", "match", "match-rank", "constant")
# Added to scores under "power" where staleness is 0, as levels of score 0 would never be drawn otherwise; so does the
# authors' code (github.com/facebookresearch/dcd).
POWER_FLOOR = 1e-3


def rank_weights(scores: np.ndarray, order: np.ndarray, exponent: float) -> np.ndarray:
    """Return float64[n], rank^-exponent of each score: the highest has rank 1, the next ones follow ``order`` (int[n]).

    Equal scores share the weights of their ranks evenly, which is the average over random tie-breaking.
    """
    shares = _powers(len(scores), exponent)
    ordered = scores[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    if len(starts) < len(scores):
        counts = np.diff(starts, append=len(scores))
        shares = np.repeat(np.add.reduceat(shares, starts) / counts, counts)
    weights = np.empty_like(shares)
    weights[order] = shares
    return weights


@lru_cache(maxsize=2)
def _powers(n: int, exponent: float) -> np.ndarray:
    return np.arange(1.0, n + 1) ** -exponent


def score_distribution(
    scores: np.ndarray,
    transform: str = "rank",
    temperature: float = 0.1,
    *,
    tempering: str = "power",
    epsilon: float = 0.05,
    floor: float = 0.0,
    order: np.ndarray | None = None,
) -> np.ndarray:
    """Compute P_S, float64[n], proportional to h(S)^(1 / temperature), or uniform if all h are 0.

    Args:
        scores: float64[n], n >= 1; not modified.
        transform: h. "rank": 1 / rank; "proportional": max(S, 0); "power": max(S, 0) + ``floor``; "softmax": exp(S);
            "match": S (1 - S), for scores that are success rates; "match-rank": 1 / rank of S (1 - S); "constant": 1.
            Without temperature: "max", the highest score only; "eps-greedy", the highest score with probability 1 -
            ``epsilon``, otherwise any level.
        temperature: beta > 0.
        tempering: "power", h^(1 / beta); "divisor", h / beta, as in minimax before v0.2.0 (issue 7 of minimax): the
            distribution then does not depend on beta.
        epsilon: probability of a uniform level under "eps-greedy".
        floor: constant added to scores under "power".
        order: int[n], indices by descending score, if they are known already ("rank" only).
    """
    exponent = 1.0 if tempering == "divisor" else 1.0 / temperature
    if transform in ("max", "eps-greedy"):
        best = scores == scores.max()
        spread = epsilon if transform == "eps-greedy" else 0.0
        return (1 - spread) * best / best.sum() + spread / len(scores)
    if transform == "softmax":
        shifted = np.exp((scores - scores.max()) * exponent)
        return shifted / shifted.sum()
    if transform.startswith("match"):
        scores = scores * (1.0 - scores)
    if transform in ("rank", "match-rank"):
        if order is None or transform == "match-rank":
            order = np.argsort(-scores, kind="stable")
        return proportional(rank_weights(scores, order, exponent))
    if transform == "constant":
        return np.full(len(scores), 1 / len(scores))
    h = scores.clip(0.0) + (floor if transform == "power" else 0.0)
    top = h.max()
    # Divided by the highest first, as a large power of small numbers underflows.
    return proportional((h / top) ** exponent if top > 0 else h)


def staleness_distribution(last: np.ndarray, clock: int) -> np.ndarray:
    """Return P_C, float64[n], proportional to ``clock - last``, the steps since the last choice; uniform if all 0."""
    return proportional((clock - last).clip(0).astype(np.float64))


class History(NamedTuple):
    """Statistics of all visits to a level.

    Number of visits and episodes, mean and best return in [0, 1], number of successes, and ``raw``, the smoothed score
    at the last visit before co-learnability is added (see `LevelTeacher`).
    """

    visits: int = 0
    episodes: int = 0
    mean: float = 0.0
    best: float = 0.0
    successes: float = 0.0
    raw: float = 0.0

    def after(self, n: int, mean: float, best: float, successes: float) -> History:
        """Return the history with one more visit of n episodes, given mean and best return and number of successes."""
        episodes = self.episodes + n
        mean = self.mean + (mean - self.mean) * n / episodes
        best = max(self.best, best) if self.visits else best
        return History(self.visits + 1, episodes, mean, best, self.successes + successes, self.raw)


@dataclass(frozen=True)
class Entry:
    """A level offered to the buffer: its key, the level, its score, the clock of its last choice, its history."""

    key: str
    level: Any
    score: float
    last: int
    history: History


@keyword_declared
class BufferOptions(Declared):
    """Options of a `LevelBuffer`."""

    capacity: int = option(
        default=4000, low=1, says="largest number of levels kept; never more than a finite space has."
    )
    transform: str = option(default="rank", choices=TRANSFORMS, says="h of P_S, see `buffer.score_distribution`.")
    temperature: float = option(default=0.1, above=0, says="beta of P_S, see `buffer.score_distribution`.")
    tempering: Literal["power", "divisor"] = option(
        default="power", says="effect of the temperature in P_S, see `buffer.score_distribution`."
    )
    staleness: float = option(
        default=0.1, low=0, high=1, says="rho, weight of the staleness distribution P_C against P_S."
    )
    priority: Literal["weight", "score"] = option(
        default="weight", says="quantity by which a new level competes with those of a full buffer, see `LevelBuffer`."
    )


@keyword_declared
class LevelBuffer(BufferOptions):
    """At most ``capacity`` levels with scores.

    A new level takes a free slot. In a full buffer its candidate slot is the one with the smallest replay weight
    (``priority="weight"``, dcd's "replay_support") or the smallest score (``priority="score"``). The new level replaces
    the old one if its score is higher, and is dropped otherwise. Replay weights are not recomputed within a batch of
    new levels: an inserted level gets the weight that its rank by score had before the batch.
    """

    epsilon: float = option(default=0.05, low=0, high=1, says="epsilon of P_S, see `buffer.score_distribution`.")

    def setup(self) -> None:
        self.clear()

    def __len__(self) -> int:
        return len(self.levels)

    def clear(self) -> None:
        self.levels: list[Any] = []
        self.keys: list[str] = []
        self._slots: dict[str, int] = {}
        self._scores = np.zeros(self.capacity)
        self._last = np.zeros(self.capacity, dtype=np.int64)
        self._visits = np.zeros((self.capacity, 2), dtype=np.int64)  # visits, episodes
        self._numbers = np.zeros((self.capacity, 4))  # mean, best, successes, raw score
        self._changed: set[int] = set()
        self._order = np.empty(0, dtype=np.int64)
        self._descending = np.empty(0)  # minus the scores along the order
        self._weights: np.ndarray | None = None

    @property
    def scores(self) -> np.ndarray:
        """float64[n], a copy of the levels' scores."""
        return self._scores[: len(self)].copy()

    @property
    def last(self) -> np.ndarray:
        """int64[n], a copy of the clock at which each level was last chosen."""
        return self._last[: len(self)].copy()

    def find(self, key: str) -> int | None:
        """Return the slot of a level by its key, or None."""
        return self._slots.get(key)

    def history(self, slot: int) -> History:
        return History(*self._visits[slot].tolist(), *self._numbers[slot].tolist())

    def set(self, slot: int, score: float, history: History | None = None) -> None:
        """Set the score, and optionally the history, of the level in ``slot``."""
        if history is not None:
            self._visits[slot], self._numbers[slot] = history[:2], history[2:]
        self._scores[slot] = score
        self._changed.add(slot)
        self._weights = None

    def score_weights(self) -> np.ndarray:
        """Return P_S, float64[n]. The array is cached until the next change and must not be written to."""
        if self._weights is None:
            self._weights = score_distribution(
                self._scores[: len(self)],
                self.transform,
                self.temperature,
                tempering=self.tempering,
                epsilon=self.epsilon,
                floor=0.0 if self.staleness > 0 else POWER_FLOOR,
                order=self._sort_slots() if self.transform == "rank" else None,
            )
        return self._weights

    def weights(self, clock: int) -> np.ndarray:
        """Return P = (1 - rho) P_S + rho P_C, float64[n], n >= 1, at the time ``clock``."""
        rho = self.staleness
        if not rho:
            return self.score_weights()
        return (1 - rho) * self.score_weights() + rho * staleness_distribution(self._last[: len(self)], clock)

    def sample(self, k: int, clock: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw k slots independently from `weights` and mark them as chosen at ``clock``.

        Returns:
            slots int[k] and their probabilities float64[k].
        """
        weights = self.weights(clock)
        slots = pick(weights, k, rng)
        self._last[slots] = clock
        return slots, weights[slots]

    def insert(self, entries: Sequence[Entry], clock: int) -> int:
        """Offer new levels in the order given and return the number that were placed.

        All keys must be distinct and none may be in the buffer already.
        """
        free = self.capacity - len(self)
        for entry in entries[:free]:
            self.levels.append(None)
            self.keys.append("")
            self._place(len(self) - 1, entry)
        return min(free, len(entries)) + (self._replace(entries[free:], clock) if len(entries) > free else 0)

    def _replace(self, entries: Sequence[Entry], clock: int) -> int:
        by_score = self.priority == "score"
        weight = self._scores[: len(self)].copy() if by_score else self.weights(clock)
        m = min(len(entries), len(self))
        # At most m levels are replaced, so the lightest is always among the m lightest and those inserted.
        lightest = np.argpartition(weight, m - 1)[:m]
        heap = list(zip(weight[lightest].tolist(), lightest.tolist()))
        heapq.heapify(heap)
        arriving = [entry.score for entry in entries] if by_score else self._weigh_arrivals(entries, clock).tolist()
        placed = 0
        for entry, own in zip(entries, arriving, strict=True):
            slot = heap[0][1]
            if entry.score > self._scores[slot]:
                self._slots.pop(self.keys[slot])
                self._place(slot, entry)
                heapq.heapreplace(heap, (own, slot))
                placed += 1
        return placed

    def _weigh_arrivals(self, entries: Sequence[Entry], clock: int) -> np.ndarray:
        """Return float64[m], the replay weight of each new level at the rank of the best level that it exceeds."""
        order, rho = self._sort_slots(), self.staleness
        places = np.searchsorted(self._descending, [-entry.score for entry in entries])
        weights = (1 - rho) * self.score_weights()[order[np.minimum(places, len(order) - 1)]]
        ages = np.array([clock - entry.last for entry in entries], dtype=np.float64).clip(0.0)
        total = float((clock - self._last[: len(self)]).clip(0).sum())
        return weights + rho * (ages / total if total > 0 else 1 / len(self))

    def _place(self, slot: int, entry: Entry) -> None:
        self.levels[slot], self.keys[slot], self._slots[entry.key] = entry.level, entry.key, slot
        self._last[slot] = entry.last
        self.set(slot, entry.score, entry.history)

    def _sort_slots(self) -> np.ndarray:
        """Return int[n], slots by descending score. Only scores that changed are sorted, then merged into the rest."""
        n, changed = len(self), np.fromiter(self._changed, dtype=np.int64, count=len(self._changed))
        if len(changed) > n // 8:
            self._order = np.argsort(-self._scores[:n], kind="stable")
            self._descending = -self._scores[self._order]
        elif len(changed):
            kept = np.ones(n, dtype=bool)
            kept[changed] = False
            kept = kept[self._order]
            order, descending = self._order[kept], self._descending[kept]
            new = changed[np.argsort(-self._scores[changed])]
            places = np.searchsorted(descending, -self._scores[new])
            self._order = np.insert(order, places, new)
            self._descending = np.insert(descending, places, -self._scores[new])
        self._changed.clear()
        return self._order

    def save(self) -> dict[str, Any]:
        n = len(self)
        arrays = {name: getattr(self, f"_{name}")[:n].tolist() for name in ("scores", "last", "visits", "numbers")}
        return {"levels": list(self.levels), "keys": list(self.keys), **arrays}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Restore a state from `save`. Raises KeyError or ValueError for a damaged one."""
        n = len(saved["levels"])
        if not len(saved["keys"]) == len(set(saved["keys"])) == n <= self.capacity:
            raise ValueError(f"{n} levels under {len(set(saved['keys']))} keys for {self.capacity} places")
        arrays = {}
        for name in ("scores", "last", "visits", "numbers"):
            mine = getattr(self, f"_{name}")
            arrays[name] = np.array(saved[name], dtype=mine.dtype).reshape(n, *mine.shape[1:])
        self.clear()
        self.levels, self.keys = list(saved["levels"]), [str(key) for key in saved["keys"]]
        self._slots = {key: slot for slot, key in enumerate(self.keys)}
        for name, values in arrays.items():
            getattr(self, f"_{name}")[:n] = values
        self._changed = set(range(n))
