"""What a training step was made of, kept as it happens: a learner that records the quantities of its pipeline.

Two records are compared by the first quantity, in the order of the pipeline, in which they differ: that is what the one
step did otherwise, and all that follows from it comes later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import torch
from palaestra.agents.grpo.batch.batch import Batch
from palaestra.agents.grpo.batch.scored import Scored
from palaestra.agents.grpo.batch.trajectory import Group, Trajectory
from palaestra.agents.grpo.collection.task_collector import Collected
from palaestra.agents.grpo.config import TrainConfig
from palaestra.agents.grpo.learner import Learner
from palaestra.agents.grpo.objective.loss import LossTerms, WeightedBatch
from palaestra.teachers import Outcome
from torch import Tensor

Event = tuple[str, Any]
"""A quantity and its value; None where it was not measured."""
FURTHER = 24
"""Proposals that a teacher is asked for after a run."""


class RecordedLearner(Learner):
    """A learner that keeps what its steps are made of. It saves no checkpoints and, unless asked for evaluations
    during the run, makes none.

    Attributes:
        events: in the order in which they came about.
        measures: name -> the value for each episode that has one, as its producer found it.
        pays: "turns" and "spans", where a reward of the shaping stage paid some.
        alter: name of a measure that reaches its readers with other values than were found.
    """

    alter = ""

    def __init__(self, config: TrainConfig, **options: Any):
        super().__init__(config, **options)
        self.events: list[Event] = []
        self.measures: dict[str, list[Any]] = {}
        self.pays: set[str] = set()
        self._lessons: list[tuple[str, Any]] = []
        _watch_method(self.parts.teacher, "propose", lambda made, k: self._lessons.append(("propose", made)))
        _watch_method(self.parts.teacher, "observe", lambda _, outcomes: self._lessons.append(("observe", outcomes)))
        self._seen = 0
        for part in (*self.parts.objective.producers, *self.parts.objective.teacher_producers):
            _watch_call(part, self._see_measures)

    def _save(self) -> None:
        pass

    def _evaluate(self, watch: Any, episodes: int) -> float:
        return super()._evaluate(watch, episodes) if self.config.eval_every else 0.0

    def _prepare(self, checkpoint: Path | None = None) -> None:
        super()._prepare(checkpoint)
        objective, update = self.parts.objective, self.parts.update
        _watch_method(self.parts.collector, "collect", self._see_collected)
        _watch_method(
            self.parts.collector, "draw", lambda drawn, *_: self._add("streams", [_episodes(g) for g in drawn])
        )
        self._credit: list[Tensor] = []
        self._selected: list[tuple[Tensor, Tensor]] = []
        for part in objective.rollout_terms.adjustments[:1]:
            _watch_call(part, lambda _, advantage, batch: self._credit.append(advantage))
        _watch_call(
            objective.rollout_terms.selection.reduction, lambda weight, _, keep: self._selected.append((keep, weight))
        )
        _watch_method(update, "_weigh_minibatches", self._see_prepared)
        self._loss: dict[str, dict[int, Any]] = {}
        for number, terms in enumerate((objective.rollout_terms.loss, *(stream.loss for stream in objective.streams))):
            self._watch_loss(terms, f"stream {number} " if number else "")
        _watch_method(update, "_accumulate", lambda *_: self._add_losses())
        _watch_method(update, "run", lambda *_: self._add("updates", self._updates()))

    def _add(self, quantity: str, value: Any) -> None:
        self.events.append((quantity, value))

    # The rollouts -----------------------------------------------------------------------------------------------------

    def _see_collected(self, collected: Collected, step: int) -> None:
        played, groups = collected.played, collected.groups
        everyone = [t for group in groups for t in group.trajectories]
        turns = [turn for t in everyone for turn in t.turns]
        proposals = [(str(p.proposal.task), p.proposal.n, p.proposal.train, str(dict(p.proposal.meta))) for p in played]
        self._add("proposals", proposals)
        self._add("number", [len(group.trajectories) for group in groups])
        self._add("prompts", _digest([turn.obs_ids for turn in turns]))
        self._add("actions", _digest([turn.act_ids for turn in turns]))
        self._add("origins", _digest([turn.token_origins for turn in turns]))
        self._add("greedy", [group.greedy for group in groups])
        self._add("drawn", [list(group.drawn) for group in groups])
        self._add("nodes", [[(node.key, node.tokens, node.value) for node in t.nodes] for t in everyone])
        told = [given for kind, given in self._lessons[self._seen :] if kind == "observe"]
        self._seen = len(self._lessons)
        self._add("told", [dict(outcome.extras) for outcomes in told for outcome in outcomes])
        self._add("rewards", [_rewards(t) for t in everyone])
        self._add("episodes", _episodes(collected.trainable))
        self.pays |= {"turns"} if any(turn.shaping for turn in turns) else set()
        self.pays |= {"spans"} if any(reward for turn in turns for _, reward in turn.spans) else set()

    def _see_measures(self, found: Any, *_: Any) -> Any:
        for rows in found:
            for row in rows:
                for name, value in row.items():
                    self.measures.setdefault(name, []).append(_plain(value))
        if not self.alter:
            return None
        return [[{k: _other(v) if k == self.alter else v for k, v in row.items()} for row in rows] for rows in found]

    # The update -------------------------------------------------------------------------------------------------------

    def _see_prepared(self, prepared: list[list[WeightedBatch]], *_: Any) -> None:
        own = [parts[0] for parts in prepared]
        batches = [weighted.batch for weighted in own]
        credit = self._credit[-len(own) :] or [weighted.advantage for weighted in own]
        selected = self._selected[-len(own) :]
        names = {"logp_teacher", "logp_prm", "value", "flow_deviation"}
        names |= set().union(*(batch.other_measurements for batch in batches))
        known = {name: _at_actions(batches, [_measured(batch, name) for batch in batches]) for name in names}
        self._add("logp_ref", _at_actions(batches, [batch.logp_ref for batch in batches]))
        self._add("measured", {name: value for name, value in known.items() if value is not None})
        self._add("credit", _at_actions(batches, credit))
        self._add("advantage", _at_actions(batches, [weighted.advantage for weighted in own]))
        self._add("tokens", _at_actions(batches, [keep.float() for keep, _ in selected]))
        self._add("reduction", _at_actions(batches, [weight for _, weight in selected]))
        self._add("weight", _at_actions(batches, [weighted.weight for weighted in own]))
        live = any(weighted.live_anchor for weighted in own)
        self._add("anchor", None if live else _at_actions(batches, [batch.logp_old for batch in batches]))
        others = [part for parts in prepared for part in parts[1:]]
        self._add("stream weight", [(part.advantage.numpy(), part.weight.numpy()) for part in others])
        self._add("minibatches", (len(prepared), self.parts.update.epochs))

    def _watch_loss(self, terms: LossTerms, prefix: str) -> None:
        factors: list[Tensor] = []
        values: list[Tensor] = []
        penalties: list[Tensor] = []
        _watch_call(terms.corrector, lambda factor, _: factors.append(factor))
        _watch_call(terms.surrogate, lambda term, _: values.append(term.value))
        for part in terms.regularisers:
            _watch_call(part, lambda term, _: penalties.append(term.value))

        def see(_: Tensor, scored: Scored, tally: Any) -> None:
            none = torch.zeros_like(scored.logp)
            self._add_tokens(prefix + "factor", scored, factors.pop() * torch.ones_like(none))
            self._add_tokens(prefix + "surrogate", scored, values.pop())
            self._add_tokens(prefix + "penalty", scored, sum(penalties, none))
            penalties.clear()

        _watch_call(terms, see)

    def _add_tokens(self, quantity: str, scored: Scored, value: Tensor) -> None:
        """Add the values of the trained tokens, and their slopes in what the model computed, by turn."""
        value = torch.where(scored.trained, value, 0.0)
        slopes: list[Tensor] = []
        for output in (scored.logp, scored.entropy, scored.kl_ref, scored.logp_top):
            slope = None
            if value.requires_grad and output is not None and output.requires_grad:
                (slope,) = torch.autograd.grad(value.sum(), output, retain_graph=True, allow_unused=True)
            slopes.append(torch.zeros_like(value) if slope is None else slope.reshape(len(value), -1).sum(1))
        table = torch.stack([row.detach().double() for row in (value, *slopes)])
        found = self._loss.setdefault(quantity, {})
        for turn in scored.turn.unique().tolist():
            found[turn] = table[:, scored.turn == turn].numpy()

    def _add_losses(self) -> None:
        """Add the number of optimiser steps so far, and the loss of a mini-batch."""
        self._add("updates", self._updates())
        for quantity in ("factor", "surrogate", "penalty"):
            self._add(quantity, self._loss.pop(quantity, {}))
        self._add("stream loss", dict(self._loss))
        self._loss.clear()

    def _updates(self) -> int:
        return max((int(state["step"]) for state in self.parts.update.optimizer.state.values()), default=0)

    # The teacher ------------------------------------------------------------------------------------------------------

    def proposes_alike(self, change: Callable[[Outcome], Outcome]) -> bool:
        """Whether a copy of the teacher that receives changed outcomes proposes what the teacher of the run did, and
        would next."""
        other = type(self)(self.config).parts.teacher
        for kind, given in list(self._lessons):
            if kind == "observe":
                other.observe([change(outcome) for outcome in given])
            elif _texts(other.propose(len(given))) != _texts(given):
                return False
        return _texts(other.propose(FURTHER)) == _texts(self.parts.teacher.propose(FURTHER))


def differs(one: Any, other: Any) -> bool:
    """Whether two values differ by more than rounding; of mappings, those of the keys that both have."""
    if one is None or other is None:
        return False
    if isinstance(one, dict):
        return any(differs(one[key], other[key]) for key in one.keys() & other.keys())
    if isinstance(one, np.ndarray):
        return one.shape != other.shape or not np.allclose(one, other, rtol=1e-3, atol=1e-7, equal_nan=True)
    if isinstance(one, (list, tuple)):
        return len(one) != len(other) or any(map(differs, one, other))
    return bool(one != other)


def _watch_method(owner: Any, name: str, see: Callable[..., Any]) -> None:
    """Let ``see`` receive what a method of one object returns, and its arguments."""
    method = getattr(owner, name)

    def call(*arguments: Any, **named: Any) -> Any:
        result = method(*arguments, **named)
        see(result, *arguments)
        return result

    setattr(owner, name, call)


def _watch_call(owner: Any, see: Callable[..., Any]) -> None:
    """Let ``see`` receive what one callable object returns, and its arguments; what it returns takes its place."""

    class Watched(type(owner)):
        def __call__(self, *arguments: Any) -> Any:
            result = super().__call__(*arguments)
            instead = see(result, *arguments)
            return result if instead is None else instead

    owner.__class__ = Watched


def _digest(value: Any) -> str:
    return blake2b(repr(value).encode(), digest_size=16).hexdigest()


def _episodes(groups: Sequence[Group]) -> list[list[Any]]:
    """What identifies the valid episodes of each group as examples: tokens, policy, and an advantage of their own."""
    return [
        [(_digest([(turn.obs_ids, turn.act_ids) for turn in t.turns]), t.version, t.advantage) for t in group.valid]
        for group in groups
    ]


def _rewards(t: Trajectory) -> tuple[Any, ...]:
    turns = [(turn.reward, dict(turn.shaping_terms), turn.spans) for turn in t.turns]
    return (t.valid, t.replaced, t.stepwise, sorted(t.shaping), np.array([t.outcome, *t.shaping.values()]), turns)


def _measured(batch: Batch, name: str) -> Tensor | None:
    return batch.other_measurements.get(name, getattr(batch, name, None))


def _at_actions(batches: Sequence[Batch], values: Sequence[Tensor | None]) -> np.ndarray | None:
    """Values of the action tokens of all mini-batches, or None."""
    if not values or any(value is None for value in values):
        return None
    return torch.cat([value[batch.action] for batch, value in zip(batches, values)]).double().numpy()  # type: ignore[index]


def _plain(value: Any) -> Any:
    """A value that can be pickled and compared."""
    if isinstance(value, Tensor):
        return value.detach().cpu().numpy()
    return value


def _other(value: Any) -> Any:
    """Another value of the same shape and range."""
    if isinstance(value, bool | np.bool_):
        return not value
    if isinstance(value, (float, int)):
        return type(value)(value / 2 if value else 1)
    if isinstance(value, str):
        return value[::-1] + "?"
    if isinstance(value, (list, tuple)):
        return type(value)(item if place % 2 else _other(item) for place, item in enumerate(value))
    if isinstance(value, dict):
        return {key: _other(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return value / np.where(np.arange(value.size).reshape(value.shape) % 2, 1, 2)
    return value


def _texts(proposals: Sequence[Any]) -> list[str]:
    return [str((p.task, p.n, p.train, dict(p.meta))) for p in proposals]


def reverse(outcome: Outcome) -> Outcome:
    """The outcome of a student who fails where this one succeeds, and whose measures are half as large."""
    returns = [1.0 - value for value in outcome.returns]
    extras = {name: [value / 2 for value in values] for name, values in outcome.extras.items()}
    return replace(outcome, returns=returns, successes=[value > 0 for value in returns], extras=extras)


def fail(outcome: Outcome) -> Outcome:
    """The outcome of a student who never succeeds, and whose measures are half as large."""
    none = [0.0] * len(outcome.returns)
    return replace(reverse(outcome), returns=none, successes=[False] * len(none))
