"""Prioritized level replay and its descendants: one teacher whose settings give the published methods.

A proposal is a new level from the generator, a level replayed from a buffer by score and staleness, or an edit of a
recently replayed level. Outcomes determine the levels' scores (see `scores`) and slots in the buffer (see `buffer`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from ...checks import check_count, declared_options, keyword_declared, option
from ...errors import InputError
from ..protocol import Draw, Evidence, Teacher
from ..sampling import effective_number
from ..saved_state import Kept
from ..signals import success_counts
from .buffer import BufferOptions, Entry, History, LevelBuffer
from .scores import DIMENSIONLESS, IN_RETURN_RANGE, LEVEL_SCORES, Visit
from .space import as_levels

ATTEMPTS = 10  # most levels generated for one proposal until one is not in the buffer


def _check_resample(name: str, value: Any) -> list[int]:
    counts = [check_count(name, count, 1) for count in value]
    if len(counts) != 2:
        raise InputError(f"{name}={value!r} must be two numbers: evaluations, and outcomes of training.")
    return counts


@keyword_declared
class LevelTeacher(BufferOptions, Teacher):
    """Replays levels by a score of their learning potential; by default robust prioritized level replay.

    Each proposal is a replay or not, independently of the others. The replayed levels of a batch are drawn
    independently from the weights at the start of the batch, so that one level can occur several times. Replay starts
    once the buffer is filled to ``min_fill``; generation ends once the buffer holds every level of a finite space.
    Proposals for evaluation only have ``train=False``. Most scores use a critic's measurements (see `Outcome.extras`)
    and fall back on returns without them.

    Raises:
        InputError: an option out of range, or ``edits`` above 0 with `Levels` that have no ``mutate``.
    """

    kind = "levels"
    paper = "2110.02439"
    kept = ("buffer", "_updates", Kept("_trained_last", list[str]), "_dropped")
    space: Any = option(
        kw_only=False,
        saved=False,
        says="ParamSpace, Box, Discrete, a list of tasks, `Levels`, or `Instances` (a replayed level then keeps its"
        " seed).",
    )
    score: str = option(default="positive_value_loss", says="name of the score, one of `LEVEL_SCORES`.")
    temperature: float = 0.3
    staleness: float = 0.3
    replay_rule: Literal["fixed", "proportionate"] = option(
        default="fixed",
        says='probability of replay: "fixed" is ``replay_prob``; "proportionate" is the filled share of the buffer,'
        " but at most ``replay_prob``.",
    )
    replay_prob: float = option(
        default=0.5, low=0, high=1, says='probability of replay ("fixed"), or its upper limit ("proportionate").'
    )
    min_fill: float = option(
        default=0.5, low=0, high=1, says="share of the buffer that must be filled before anything is replayed."
    )
    train_on_new: bool = option(
        default=False,
        says="train on new levels, too. False is the robust rule (PLR-perp): new levels are only evaluated, and the"
        " student learns on replayed levels.",
    )
    smoothing: float = option(
        default=1.0, above=0, high=1, says="step size of a level's score towards its latest value."
    )
    edits: int = option(
        default=0,
        says="number of edits that turn a replayed level into a new one (ACCEL); 0 disables editing. Edited levels "
        "are only evaluated.",
    )
    edit_batch: int = option(
        default=32, low=1, says="number of replay outcomes after which the same number of edited levels is proposed."
    )
    parents: int = option(
        default=4,
        low=1,
        says="number of levels of an edit batch that are edited, in turn: the easiest, by mean return minus score. "
        "(The released code, dcd, sorts the other way, and over a two-dimensional array, so that it edits "
        "level 0 first: dcd's issue 11.)",
    )
    score_weight: float = option(default=1.0, says='factor on the second term of the score "traced".')
    co_learnability: float = option(
        default=0.0,
        says="factor on the mean fall of scores between two visits in one batch of outcomes; the product is added "
        "to the scores of the levels replayed in the previous batch (TRACED).",
    )
    resample: tuple[int, int] | None = option(
        default=None,
        check=_check_resample,
        says="(N, T) alternates two phases, as SFL: N evaluations of new levels fill an empty buffer, then T "
        "training outcomes follow, on replayed levels and on new levels that are not kept. Phases are counted "
        "in outcomes, so that lost proposals do not stall them; late evaluations are still offered to the "
        "buffer.",
    )
    rollouts: int | None = option(
        default=None, low=1, says="`Proposal.n` of all proposals; None leaves it to the learner."
    )

    def setup(self) -> None:
        self.levels = as_levels(self.space)
        if self.edits and not self.levels.editable:
            raise InputError(f"edits={self.edits} asks for edits; give these Levels mutate=, or leave edits at 0.")
        self.needs, self.uses = LEVEL_SCORES[self.score].needs, LEVEL_SCORES[self.score].uses
        options = {name: getattr(self, name) for name in declared_options(BufferOptions)}
        options["capacity"] = min(self.capacity, self.levels.size or self.capacity)
        self.buffer = LevelBuffer(**options)
        self.begin(self.levels.signature)
        self._updates = 0  # outcomes from `update`, which have no ids
        self._seen = [0, 0.0]  # episodes and mean return over all levels
        self._parents: list[Any] = []  # levels to edit next
        self._replayed: list[list[Any]] = []  # [how easy, level] since the last batch of edits
        self._trained_last: list[str] = []  # keys of the levels replayed in the last batch of outcomes
        self._round = [0, 0]  # evaluations and outcomes of training in this round
        self._dropped = 0

    @property
    def clock(self) -> int:
        """Number of proposals and of calls of `update` so far, the time scale of staleness."""
        return self._next_id + self._updates

    @property
    def evaluating(self) -> bool:
        """True in the phase of `resample` that fills the buffer."""
        return self.resample is not None and self._round[0] < self.resample[0]

    def replay_share(self) -> float:
        """Return the probability that a proposal is a replay, given that it is not an edit."""
        fill = len(self.buffer) / self.buffer.capacity
        if not len(self.buffer) or self.evaluating or fill < self.min_fill:
            return 0.0
        if len(self.buffer) == self.levels.size and self.resample is None:
            return 1.0
        return self.replay_prob if self.replay_rule == "fixed" else min(fill, self.replay_prob)

    def _draw(self, k: int) -> list[Draw]:
        parents, self._parents = self._parents[:k], self._parents[k:]
        draws = [self._draw_level(self.levels.mutate(level, self.edits, self._rng), "edit", False) for level in parents]
        chance = self.replay_share()
        replay = self._rng.random(k - len(draws)) < chance
        count = int(replay.sum())
        slots, probs = self.buffer.sample(count, self.clock, self._rng) if count else (np.empty(0, int), np.empty(0))
        chosen = zip(slots.tolist(), (chance * probs).tolist())
        new = "new" if self.resample is None or self.evaluating else "random"
        for again in replay.tolist():
            if again:
                slot, prob = next(chosen)
                level, key = self.buffer.levels[slot], self.buffer.keys[slot]
                draws.append(self._make_draw(level, self.levels.task(level, self._rng), key, "replay", True, prob))
            else:
                draws.append(self._draw_new(new))
        return draws

    def _draw_new(self, role: str) -> Draw:
        train = self.train_on_new if role == "new" else True
        draw = self._draw_level(self.levels.generate(self._rng), role, train)
        for _ in range(ATTEMPTS - 1):
            if role != "new" or self.buffer.find(draw.record[1]) is None:
                break
            draw = self._draw_level(self.levels.generate(self._rng), role, train)
        return draw

    def _draw_level(self, level: Any, role: str, train: bool) -> Draw:
        task = self.levels.task(level, self._rng)
        return self._make_draw(level, task, self.levels.key(task), role, train, math.nan)

    def _make_draw(self, level: Any, task: Any, key: str, role: str, train: bool, prob: float) -> Draw:
        origin = role if role in ("replay", "edit") else "explore"
        return Draw([level, key, role], task, prob, origin, n=self.rollouts, train=train)

    def _record(self, task: Any) -> list[Any]:
        level, key = self.levels.level(task), self.levels.key(task)
        new = "new" if self.resample is None or self.evaluating else "random"
        return [level, key, new if self.evaluating or self.buffer.find(key) is None else "replay"]

    def _learn(self, evidence: list[Evidence]) -> None:
        offered: dict[str, Entry] = {}
        falls, trained = [], []
        for item in evidence:
            level, key, role = item.record
            n, mean, best = len(item.returns), float(item.returns.sum()) / len(item.returns), float(item.returns.max())
            slot = self.buffer.find(key)
            if slot is not None:
                before = self.buffer.history(slot)
            else:
                before = offered[key].history if key in offered else History()
            successes = success_counts(item)[0]
            history = before.after(n, mean, best, successes)
            rate = successes / n if n > 1 else history.successes / history.episodes
            raw = LEVEL_SCORES[self.score].of(self._visit(item, mean, rate, before, history))
            if before.visits:
                raw = before.raw + self.smoothing * (raw - before.raw)
                falls.append(before.raw - raw)
            history = history._replace(raw=raw)
            proposed_at = item.outcome.id if item.outcome.id >= 0 else self._next_id
            if slot is not None:
                self.buffer.set(slot, raw, history)
            elif role != "random":
                offered[key] = Entry(key, level, raw, proposed_at + self._updates, history)
            if role == "replay":
                trained.append(key)
                self._replayed.append([mean - raw, level])
            self._count_outcome(item, n, mean, role)
        self._dropped += len(offered) - self.buffer.insert(list(offered.values()), self.clock)
        self._credit_last_batch(falls, trained)
        self._queue_edits()
        if self.resample is not None and self._round[1] >= self.resample[1]:
            self.buffer.clear()
            self._round = [0, 0]

    def _visit(self, item: Evidence, mean: float, rate: float, before: History, after: History) -> Visit:
        low, high = self.return_range
        extras = {}
        for name, values in item.outcome.extras.items():
            number = sum(values) / len(values) - (low if name in IN_RETURN_RANGE else 0.0)
            extras[name] = number if name in DIMENSIONLESS else number / (high - low)
        unseen = mean if len(item.returns) > 1 or not self._seen[0] else self._seen[1]
        value = before.mean if before.visits else unseen
        return Visit(item.returns, value, after.best, rate, extras, self.score_weight, self._rng)

    def _count_outcome(self, item: Evidence, n: int, mean: float, role: str) -> None:
        self._updates += item.outcome.id < 0
        episodes = self._seen[0] + n
        self._seen = [episodes, self._seen[1] + (mean - self._seen[1]) * n / episodes]
        if self.evaluating:
            self._round[0] += role == "new"
        elif self.resample is not None:
            self._round[1] += role != "new"

    def _credit_last_batch(self, falls: list[float], trained: list[str]) -> None:
        """Add `co_learnability` times the mean of ``falls`` to the scores of levels replayed in the batch before
        (TRACED)."""
        if not self.co_learnability:
            return
        if falls:
            gain, scores = self.co_learnability * float(np.mean(falls)), self.buffer.scores
            for slot in map(self.buffer.find, self._trained_last):
                if slot is not None:
                    self.buffer.set(slot, float(scores[slot]) + gain)
        self._trained_last = list(dict.fromkeys(trained))

    def _queue_edits(self) -> None:
        """Queue the easiest levels of an edit batch as parents, one edited level per replay of the batch (ACCEL)."""
        if not self.edits:
            self._replayed.clear()
        elif len(self._replayed) >= self.edit_batch:
            easiest = sorted(self._replayed, key=lambda pair: -pair[0])[: self.parents]
            self._parents += [easiest[i % len(easiest)][1] for i in range(len(self._replayed))]
            self._replayed.clear()

    def _metrics(self) -> dict[str, float]:
        n = len(self.buffer)
        metrics = {"levels": n, "fill": n / self.buffer.capacity, "dropped": self._dropped}
        metrics |= {"replay_share": self.replay_share(), "edits_waiting": len(self._parents)}
        if n:
            scores = self.buffer.scores
            metrics |= {"score_mean": float(scores.mean()), "score_max": float(scores.max())}
            metrics["effective_levels"] = effective_number(self.buffer.weights(self.clock))
        return metrics

    def _save(self) -> dict[str, Any]:
        return {
            **super()._save(),
            "seen": list(self._seen),
            "parents": list(self._parents),
            "replayed": [list(pair) for pair in self._replayed],
            "round": list(self._round),
        }

    def _restore(self, own: Mapping[str, Any]) -> None:
        super()._restore(own)
        self._seen = [int(own["seen"][0]), float(own["seen"][1])]
        self._parents = list(own["parents"])
        self._replayed = [[float(ease), level] for ease, level in own["replayed"]]
        self._round = [int(own["round"][0]), int(own["round"][1])]
