"""With what a unit is compared: all samples of the task, or only those in the same place, state or part.

Baselines and scales that take statistics over peers have a parameter ``by``; `compared` turns it into groups. A unit
that is alone among its peers gets advantage zero from any mean.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import replace

import torch
from torch import Tensor

from .....errors import unknown_name
from .....rewards.answers import extract
from ...batch.batch import Batch
from .tree import tree_of
from .units import Units, numbered, place_of_turn

PEERS = ("group", "batch", "role", "turn", "state", "depth", "siblings")
"""The values of ``by``."""


def compared(units: Units, batch: Batch, by: str = "group") -> Units:
    """The units with groups of peers.

    Args:
        by: "group": as the return has it. "batch": everything. Within a group: "role": who acted. "turn": the same turn
            number. "state": the same observation before the action (GiGPO's anchor states, arXiv 2505.10978).
            "depth": nodes that are equally far from the root. "siblings": nodes with the same parent.

    Raises:
        InputError: ``by`` is none of these.
    """
    if by == "group":
        return units
    if by == "batch":
        return replace(units, group=torch.zeros_like(units.group))
    if by == "role":
        role = _equal(t.role for t in batch.trajectories)
        return replace(units, group=numbered(units.group, role[units.episode]))
    if by == "turn":
        return _by_turn(units, batch, place_of_turn(batch))
    if by == "state":
        return _by_turn(units, batch, _equal(t.observation or t.obs_ids for e in batch.trajectories for t in e.turns))
    if by in ("depth", "siblings"):
        tree = tree_of(batch)
        node = _at_first_token(units, tree.of_token)
        key = tree.depth if by == "depth" else tree.parent
        padded = torch.cat((key, key.new_tensor([-2])))
        return replace(units, group=numbered(units.group, padded[node]))
    raise unknown_name("way to compare units, by =", by, PEERS)


def answer_entropy(batch: Batch, answer_format: str = "any") -> Tensor:
    """Entropy in nats of the final answers of each group, float [G]; 0 where all agree."""
    answers: list[Counter[str | None]] = [Counter() for _ in range(batch.groups)]
    for group, trajectory in zip(batch.group_of.tolist(), batch.trajectories, strict=True):
        answers[group][extract(trajectory.turns[-1].action, answer_format) if trajectory.turns else None] += 1
    return torch.tensor([_entropy(sorted(counter.values())) for counter in answers])


def _entropy(counts: list[int]) -> float:
    total = sum(counts)
    return -sum(n / total * math.log(n / total) for n in counts)


def _by_turn(units: Units, batch: Batch, key: Tensor) -> Units:
    """Peers with equal ``key`` [K] of the turn in which they begin; units without tokens are kept apart."""
    padded = torch.cat((key, key.new_tensor([-1])))
    return replace(units, group=numbered(units.group, padded[_at_first_token(units, batch.turn_of)]))


def _at_first_token(units: Units, token_value: Tensor) -> Tensor:
    """An integer token value [N] at the first token of each unit, -1 for units without any: int64 [M]."""
    inside = units.of_token >= 0
    place = torch.arange(len(units.of_token))[inside]
    none = len(units.of_token)
    first = torch.full_like(units.group, none).scatter_reduce_(0, units.of_token[inside], place, "amin")
    return torch.cat((token_value, token_value.new_tensor([-1])))[first]


def _equal(keys: Iterable[Hashable]) -> Tensor:
    """The same number for equal keys: int64."""
    known: dict[Hashable, int] = {}
    return torch.tensor([known.setdefault(key, len(known)) for key in keys], dtype=torch.int64)
