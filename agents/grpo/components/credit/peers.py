"""Peers: the units that a unit is compared with, all of its task or those in the same place, state or role.

Baselines and scales that take statistics over peers have a parameter ``by``; `peers_by` turns it into segments. A unit
that is alone among its peers gets advantage zero from any mean.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable

import torch
from torch import Tensor

from .....errors import unknown_name
from .....rewards.answers import extract
from ...batch.batch import Batch
from ...batch.segments import Segments, number_combinations
from .tree import tree_of
from .units import Units, place_of_turn

PEERS = ("group", "batch", "role", "turn", "state", "depth", "siblings")
"""The values of ``by``."""


def peers_by(units: Units, batch: Batch, by: str = "group") -> Segments:
    """The units in segments of peers.

    Args:
        by: "group": as the return has it. "batch": everything. Within a group: "role": who acted. "turn": the same turn
            number. "state": the same observation before the action (GiGPO's anchor states, arXiv 2505.10978).
            "depth": nodes that are equally far from the root. "siblings": nodes with the same parent.

    Raises:
        InputError: ``by`` is none of these.
    """
    if by == "group":
        return units.peers
    if by == "batch":
        return Segments(torch.zeros_like(units.group), min(len(units.group), 1))
    if by == "role":
        key = _number_keys(t.role for t in batch.trajectories)[units.episode]
    elif by == "turn":
        key = _at_first_token(units, batch.turn_of, place_of_turn(batch), -1)
    elif by == "state":
        observed = (t.observation or t.obs_ids for e in batch.trajectories for t in e.turns)
        key = _at_first_token(units, batch.turn_of, _number_keys(observed), -1)
    elif by in ("depth", "siblings"):
        tree = tree_of(batch)
        key = _at_first_token(units, tree.of_token, tree.depth if by == "depth" else tree.parent, -2)
    else:
        raise unknown_name("way to compare units, by =", by, PEERS)
    number = number_combinations(units.group, key)
    return Segments(number, int(number.max()) + 1 if len(number) else 0)


def entropy_of_answers(batch: Batch, answer_format: str = "any") -> Tensor:
    """Entropy in nats of the final answers of each group, float [G]; 0 where all agree."""
    answers: list[Counter[str | None]] = [Counter() for _ in range(batch.groups)]
    for group, trajectory in zip(batch.group_of.tolist(), batch.trajectories, strict=True):
        answers[group][extract(trajectory.turns[-1].action, answer_format) if trajectory.turns else None] += 1
    return torch.tensor([_entropy(sorted(counter.values())) for counter in answers])


def _entropy(counts: list[int]) -> float:
    total = sum(counts)
    return -sum(n / total * math.log(n / total) for n in counts)


def _at_first_token(units: Units, part_of: Tensor, part_value: Tensor, missing: int) -> Tensor:
    """A value per part (turn or node, [K]) at the first token of each unit, ``missing`` without tokens: int64 [M].

    Args:
        part_of: part of each token, int64 [N].
    """
    inside = units.of_token >= 0
    tokens, none = torch.arange(len(units.of_token))[inside], len(units.of_token)
    first = torch.full_like(units.group, none).scatter_reduce_(0, units.of_token[inside], tokens, "amin")
    padded = torch.cat((part_value, part_value.new_tensor([missing])))
    return padded[torch.cat((part_of, part_of.new_tensor([-1])))[first]]


def _number_keys(keys: Iterable[Hashable]) -> Tensor:
    """The same number for equal keys, int64."""
    known: dict[Hashable, int] = {}
    return torch.tensor([known.setdefault(key, len(known)) for key in keys], dtype=torch.int64)
