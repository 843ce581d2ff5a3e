"""Adapter between a batch, or units of credit, and the formulas of returns, baselines and scales.

As in `components.loss_arrays`, the leading parameters of a formula name the arrays that it takes: ``_e`` episodes,
``_k`` turns, ``_t`` action tokens, ``_u`` units. The decorators register a component with the signature that its stage
calls: ``(batch, **parameters)`` for a return, ``(units, batch, **parameters)`` for a baseline or a scale.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor

from .....registry import Registry
from ...batch.batch import Batch
from ...batch.segments import Segments
from ...batch.trajectory import Origin
from ...recipes.stages import BASELINES, RETURNS, SCALES
from ..loss_arrays import describe_component, split_arguments
from .peers import peers_by
from .units import Units, episode_units, reward_by_token, reward_by_turn, token_units, turn_units, turns_left

F = TypeVar("F", bound=Callable[..., Any])

_ON_DEMAND = ("logp_old", "logp_ref", "logp_prm", "logp_teacher", "value", "flow_deviation")
MEASURED = {f"{name}_t": name for name in _ON_DEMAND}
"""Arrays that are computed only on demand: parameter of the formula -> name that the component declares in `needs`."""


def _rounds(batch: Batch) -> Segments:
    number, of = 0, list[int]()
    for t in batch.trajectories:
        rounds = (t.turns[-1].extras.get("rounds") if t.turns else None) or [0] * len(t.turns)
        of += [number + round_ for round_ in rounds]
        number += max(rounds, default=0) + 1
    return Segments(torch.tensor(of, dtype=torch.int64), number)


BATCH_ARRAYS: dict[str, Callable[[Batch], Any]] = {
    "outcome_e": lambda b: b.outcome,
    "success_e": lambda b: torch.tensor([float(t.success) for t in b.trajectories], dtype=b.outcome.dtype),
    "kl_scale_e": lambda b: torch.ones(b.episodes) if b.kl_scale is None else b.kl_scale.nan_to_num(1.0),
    "own_reward_k": lambda b: b.turn_reward,
    "process_k": lambda b: b.process_reward,
    "reward_k": reward_by_turn,
    "turns_left_k": turns_left,
    "episode_k": lambda b: Segments(b.episode_of_turn, b.episodes),
    "round_k": _rounds,
    "reward_t": reward_by_token,
    "turn_t": lambda b: Segments(b.turn_of[b.action], len(b.episode_of_turn)),
    "episode_t": lambda b: Segments(b.episode_of[b.action], b.episodes),
    **{array: lambda b, name=name: b.measurement(name)[b.action] for array, name in MEASURED.items()},
}
"""Leading parameter of a return's formula -> what it holds, over E episodes, K turns and A action tokens.

outcome_e, success_e: return of each episode, and 1 if the episode succeeded, else 0, [E].
kl_scale_e: teacher's factor on the KL penalties of each episode, 1 if the teacher set none, [E].
own_reward_k: reward of each turn without the reward of the whole episode, [K].
process_k: `Batch.process_reward`, the reward of each turn without the outcome, [K].
reward_k, reward_t: reward of each turn [K], and of each token [A]; a reward of the whole episode is added to its last
turn or token.
turns_left_k: number of turns that follow in the episode, int64 [K].
round_k: `Segments` of turns by episode of a block, or by episode without the extra "rounds".
episode_k, turn_t, episode_t: `Segments` of turns by episode, of tokens by turn, and of tokens by episode.
logp_old_t, logp_ref_t, logp_prm_t, logp_teacher_t: log-probability under the policy before the update, the reference,
the implicit process reward model and the model to distil from, [A].
value_t: value of the state before each token, [A].
flow_deviation_t: error of a velocity network at each token, [A].
"""


def returns(name: str, per: str) -> Callable[[F], F]:
    """Register a formula as a return: `BATCH_ARRAYS` -> a value per "episode" [E], "turn" [K] or "token" [A]."""
    units_of = {"episode": episode_units, "turn": turn_units, "token": token_units}[per]

    def add(formula: F) -> F:
        readers, parameters = split_arguments(formula, BATCH_ARRAYS)

        def component(batch: Batch, *options: Any, **named: Any) -> Units:
            return units_of(batch, formula(*[read(batch) for read in readers], *options, **named))

        RETURNS.add(name, describe_component(component, formula, name, ("batch",), parameters, MEASURED))
        return formula

    return add


def _at_units(by_group: list[float], units: Units, batch: Batch) -> Tensor:
    return torch.tensor(by_group, dtype=units.value.dtype)[batch.group_of[units.episode]]


def _is_taught(units: Units, batch: Batch) -> Tensor:
    tokens = batch.sum_by_episode(batch.written_by(Origin.TEACHER).to(units.value.dtype))
    return (tokens > 0)[units.episode]


NAN = float("nan")
UNIT_ARRAYS: dict[str, Callable[[Units, Batch, str], Any]] = {
    "return_u": lambda units, batch, by: units.raw,
    "centred_u": lambda units, batch, by: units.value,
    "tokens_u": lambda units, batch, by: units.tokens,
    "taught_u": lambda units, batch, by: _is_taught(units, batch),
    "greedy_u": lambda units, batch, by: _at_units(
        [NAN if group.greedy is None else group.greedy for group in batch.group_list], units, batch
    ),
    "drawn_mean_u": lambda units, batch, by: _at_units(
        [sum(g.drawn) / len(g.drawn) if g.drawn else NAN for g in batch.group_list], units, batch
    ),
    "peers": peers_by,
}
"""Leading parameter of a baseline's or scale's formula -> what it holds, over M units.

return_u, centred_u: return of each unit, before and after subtracting the baseline, [M].
tokens_u: number of action tokens of each unit, [M].
taught_u: True for units of episodes with tokens of a teacher, bool [M].
greedy_u, drawn_mean_u: outcome of the group's greedy episode, and mean outcome of the group's samples before filters;
NaN without such episodes, [M].
peers: `Segments` of the units by peer group: units of one segment are compared with each other.
"""


def baseline(name: str, *, peers: str = "group", by: str | None = None, summary: str = "") -> Callable[[F], F]:
    """Register as a baseline a formula from arrays (see `UNIT_ARRAYS`) to a value for each of M units, [M].

    Args:
        peers: rule by which units are compared, a name in `peers.PEERS`.
        by: default of a parameter ``by`` that the component gets, which chooses the peers instead of ``peers``; None
            for no such parameter.
        summary: docstring of the component, if one formula is registered under several names; "" for the formula's.
    """
    return _register(BASELINES, name, peers, by, summary)


def scale(name: str, *, peers: str = "group", by: str | None = None) -> Callable[[F], F]:
    """Register as a scale a formula from `UNIT_ARRAYS` to a value for each unit, [M]; arguments as in `baseline`."""
    return _register(SCALES, name, peers, by, "")


def _register(registry: Registry[Any], name: str, peers: str, by: str | None, summary: str) -> Callable[[F], F]:
    def add(formula: F) -> F:
        readers, parameters = split_arguments(formula, UNIT_ARRAYS)

        def component(units: Units, batch: Batch, *options: Any, **named: Any) -> Tensor:
            among = peers if by is None else named.pop("by", by)
            return formula(*[read(units, batch, among) for read in readers], *options, **named)

        if by is not None:
            keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD
            parameters.append(inspect.Parameter("by", keyword, default=by, annotation="str"))
        made = describe_component(component, formula, name, ("units", "batch"), parameters, {})
        made.__doc__ = summary or formula.__doc__
        registry.add(name, made)
        return formula

    return add
