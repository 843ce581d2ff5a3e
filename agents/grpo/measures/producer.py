"""Producers of measures: the tools they get, their registry, and the storage of their results in episodes.

A producer is called before the rewards, with groups of episodes that the rewards have not scored yet, and returns a
mapping from names to values for each trajectory. The values are stored in `Trajectory.extras`, where rewards and
teachers read them. Only producers whose measures are needed are called. `rewards.measures.MEASURES` lists the names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from torch import Tensor

from ....rewards.measures import check_names
from ...language.decoder import context_limit
from ...language.model import LanguageModel
from ..batch.batch import Batch, collate
from ..batch.passes import Outputs, Passes
from ..batch.trajectory import Group, Trajectory, Turn, last_context
from ..recipes.stages import PRODUCERS
from ..rollouts.episode_player import EpisodePlayer

F = TypeVar("F", bound=Callable[..., Any])
Found = Sequence[Sequence[Mapping[str, Any]]]
"""Result of a producer: for each group, for each trajectory, a mapping from the measure's name to its value."""


@dataclass(frozen=True, eq=False)
class ScoredText:
    """Scores of a text of n tokens in its context.

    Attributes:
        logps: log-probability of each token, nats, float [n].
        hidden: hidden state that predicts each token, [n, H]; None unless requested.
    """

    logps: Tensor
    hidden: Tensor | None = None


@dataclass(frozen=True)
class ProducerTools:
    """Models, tokenizer and generators that a producer may use.

    Attributes:
        player: plays episodes with the policy: `ask` samples answers to questions, `log_likelihoods` scores given
            tokens, `play` plays further episodes.
        language: the policy with tokenizer and renderer.
        passes: the learner's passes through a model.
        reference: the model of the reference policy; None unless the producer needs "logp_ref".
        rng: generator of this step.
    """

    player: EpisodePlayer
    language: LanguageModel
    passes: Passes
    reference: Any
    rng: np.random.Generator

    def score(self, groups: Sequence[Group], *, hidden: bool = False) -> tuple[Batch, Outputs]:
        """Score the action tokens of the valid trajectories; return the batch and the policy's outputs for it."""
        batch = collate(groups)
        return batch, self.passes.measure(self.language.model, batch, hidden=hidden)

    def score_texts(
        self,
        contexts: Sequence[Sequence[int]],
        texts: Sequence[Sequence[int]],
        model: Any = None,
        *,
        temperature: float = 1.0,
        hidden: bool = False,
    ) -> list[ScoredText | None]:
        """Score given texts, each in a context of at least one token, with the policy or ``model``.

        Returns:
            scores of each text; None for a text without tokens, or too long for the model together with its context.
        """
        most = context_limit(self.language.model)
        pairs = [(tuple(context), tuple(text)) for context, text in zip(contexts, texts, strict=True)]
        fitting = [n for n, (context, text) in enumerate(pairs) if text and len(context) + len(text) <= most]
        if not fitting:
            return [None] * len(pairs)
        same: dict[tuple[int, ...], list[int]] = {}
        for number in fitting:
            same.setdefault(pairs[number][0], []).append(number)
        groups = [Group(-1, tuple(_as_trajectory(*pairs[n]) for n in numbers)) for numbers in same.values()]
        chosen = self.language.model if model is None else model
        batch = collate(groups)
        outputs = replace(self.passes, temperature=temperature).measure(chosen, batch, hidden=hidden)
        order = [number for numbers in same.values() for number in numbers]
        logps = split_actions(batch, outputs.logp)
        states = split_actions(batch, outputs.hidden) if outputs.hidden is not None else [None] * len(order)
        rows = zip(order, logps, states, strict=True)
        found = {number: ScoredText(logp, state) for number, logp, state in rows if logp is not None}
        return [found.get(number) for number in range(len(pairs))]

    def encode(self, text: str) -> tuple[int, ...]:
        """Tokenize text to put inside a conversation: no special token is added, and none written in it is
        recognised."""
        return tuple(self.language.tokenizer(text, add_special_tokens=False, split_special_tokens=True).input_ids)

    def encode_blank(self) -> tuple[int, ...]:
        """Return the tokens that precede an answer to an empty prompt; at least one."""
        renderer = self.language.renderer
        return renderer.observation("", first=True) or renderer.stop_ids[:1]

    def strip_stop(self, ids: Sequence[int]) -> tuple[int, ...]:
        """Return the ids of an action without its stop token."""
        return tuple(ids[:-1] if ids and ids[-1] in self.language.renderer.stop_ids else ids)


def _as_trajectory(context: tuple[int, ...], text: tuple[int, ...]) -> Trajectory:
    """Make a trajectory for scoring only: one turn, whose action is the text."""
    turn = Turn(context, text, (0.0,) * len(text), "stop", 0.0)
    return Trajectory("", {}, 0.0, (turn,), False, 0.0, False, True, len(text))


def split_actions(batch: Batch, token_value: Tensor) -> list[Tensor]:
    """Split a value per token, [N, ...], into one tensor per valid trajectory, of its action tokens only."""
    return list(token_value[batch.action].split(batch.action_count.tolist()))


def conversation(trajectory: Trajectory) -> tuple[list[int], list[bool]]:
    """Return the tokens of an episode's last context, up to its last action, and a mask of the action tokens."""
    ids: list[int] = []
    acted: list[bool] = []
    for turn in last_context(trajectory.turns):
        ids += [*turn.obs_ids, *turn.act_ids]
        acted += [False] * len(turn.obs_ids) + [True] * len(turn.act_ids)
    return ids, acted


def place_rows(groups: Sequence[Group], rows: Iterable[Mapping[str, Any]]) -> Found:
    """Assign ``rows``, one per valid trajectory in order, to the groups; other trajectories get an empty mapping."""
    found = iter(rows)
    return [[next(found) if t.valid else {} for t in group.trajectories] for group in groups]


def produces(*names: str, needs: Sequence[str] = (), as_: str = "") -> Callable[[F], F]:
    """Register a producer under the first of ``names``, the measures that it produces, or under ``as_``.

    A producer is a function ``(groups, tools, **params) -> Found`` or a class whose instances are called with
    ``(groups, tools)``.

    Args:
        needs: measures that must be produced first; "logp_ref" requests the reference model.
    """
    check_names("a producer", {*names, *needs})

    def add(producer: F) -> F:
        target: Any = producer
        target.provides = frozenset(names)
        target.needs = frozenset(needs)
        return PRODUCERS.register(as_ or names[0])(producer)

    return add


def measure_of(name: str) -> Callable[[Callable[[Trajectory], float]], Callable[[Trajectory], float]]:
    """Register a function from one trajectory to a number as the producer of the measure ``name``."""

    def add(function: Callable[[Trajectory], float]) -> Callable[[Trajectory], float]:
        def producer(groups: Sequence[Group], tools: ProducerTools) -> Found:
            return [[{name: function(trajectory)} for trajectory in group.trajectories] for group in groups]

        producer.__name__, producer.__doc__ = function.__name__, function.__doc__
        produces(name)(producer)
        return function

    return add


def add_measures(
    groups: Sequence[Group], producers: Sequence[Callable[..., Found]], tools: ProducerTools
) -> list[Group]:
    """Run the producers in order and store their values in `Trajectory.extras` of the episodes not judged yet."""
    measured = list(groups)
    for producer in producers:
        fresh = [replace(g, trajectories=tuple(t for t in g.trajectories if not t.judged)) for g in measured]
        if not any(group.trajectories for group in fresh):
            continue
        for number, (group, rows) in enumerate(zip(measured, producer(fresh, tools), strict=True)):
            found = iter(rows)
            members = tuple(
                t if t.judged else replace(t, extras={**t.extras, **next(found)}) for t in group.trajectories
            )
            measured[number] = replace(group, trajectories=members)
    return measured
