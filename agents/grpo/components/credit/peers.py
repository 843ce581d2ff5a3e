"""Peers: the units of credit that a unit is compared with, by group, turn, state, tree position or role.

Baselines and scales that take statistics over peers have a parameter ``by``; `peers_by` turns its value into segments.
A unit without other peers gets advantage 0 from a mean over peers.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

import torch
from torch import Tensor

from .....errors import unknown_name
from .....rewards.answers import extract
from ...batch.batch import Batch
from ...batch.segments import Segments, number_combinations
from ...batch.trajectory import Trajectory
from .tree import tree_of
from .units import Units, place_of_turn

PEERS = ("group", "batch", "role", "turn", "state", "depth", "siblings")
"""The values of ``by``."""


def peers_by(units: Units, batch: Batch, by: str = "group") -> Segments:
    """Group the units into segments of peers.

    Args:
        by: "group": units with equal `Units.group`. "batch": all units. "role": all units of the batch whose episodes
            have the same role. Within a group: "turn": units with the same turn number. "state": units with the same
            observation before the action (GiGPO's anchor states, arXiv 2505.10978). "depth": nodes at the same distance
            from the root. "siblings": nodes with the same parent.

    Raises:
        InputError: ``by`` has another value.
    """
    if by == "group":
        return units.peers
    if by == "batch":
        return Segments(torch.zeros_like(units.group), min(len(units.group), 1))
    if by == "role":
        return _segments(_number_keys(t.role for t in batch.trajectories)[units.episode])
    if by == "turn":
        key = _at_first_token(units, batch.turn_of, place_of_turn(batch), -1)
    elif by == "state":
        observed = (t.observation or t.obs_ids for e in batch.trajectories for t in e.turns)
        key = _at_first_token(units, batch.turn_of, _number_keys(observed), -1)
    elif by in ("depth", "siblings"):
        tree = tree_of(batch)
        key = _at_first_token(units, tree.of_token, tree.depth if by == "depth" else tree.parent, -2)
    else:
        raise unknown_name("way to compare units, by =", by, PEERS)
    return _segments(number_combinations(units.group, key))


def _segments(number: Tensor) -> Segments:
    return Segments(number, int(number.max()) + 1 if len(number) else 0)


def entropy_of_answers(batch: Batch, answer_format: str = "any") -> Tensor:
    """Return the entropy in nats of the final answers of each group, float [G]; 0 if all answers are equal."""
    answers: list[Counter[str | None]] = [Counter() for _ in range(batch.groups)]
    for group, trajectory in zip(batch.group_of.tolist(), batch.trajectories, strict=True):
        answers[group][extract(trajectory.turns[-1].action, answer_format) if trajectory.turns else None] += 1
    shares = [[n / counter.total() for n in sorted(counter.values())] for counter in answers]
    return torch.tensor([-sum(share * math.log(share) for share in own) for own in shares])


def answer_dispersion(
    trajectories: Sequence[Trajectory], choices: int | None = None, answer_format: str = "any"
) -> float:
    """Measure the dispersion of the final answers to one task, in [0, 1] (PuzzleCraft, arXiv 2512.14944).

    For K options it is the entropy of the answers divided by ln K. For permutations, which are too many to repeat by
    chance, it is (M - 1) / (G - 1) with M distinct permutations among G answers. The environment states the kind of
    answer in its extras: "options" (K) or "permutation" (number of items). Without both, answers are taken as
    permutations if all legible ones order the same three or more numbers, and else as choices among as many options as
    there are episodes.

    Args:
        choices: K, overrides the environment's "options".
    """
    if len(trajectories) < 2:
        return 0.0
    answers = [extract(t.turns[-1].action, answer_format) if t.turns else None for t in trajectories]
    orders = [tuple(map(int, _NUMBERS.findall(answer))) if answer is not None else () for answer in answers]
    extras = trajectories[0].episode.extras
    options = choices or extras.get("options")
    length = extras.get("permutation") or (0 if options else _length_of_permutations(answers, orders))
    if options is None and length:
        distinct = {order for order in orders if len(order) == len(set(order)) == length}
        return max(len(distinct) - 1, 0) / (len(answers) - 1)
    shares = [n / len(answers) for n in sorted(Counter(answers).values())]
    entropy = -math.fsum(share * math.log(share) for share in shares)
    return min(entropy / math.log(max(options or len(answers), 2)), 1.0)


_NUMBERS = re.compile(r"\d{1,9}")


def _length_of_permutations(answers: Sequence[str | None], orders: Sequence[tuple[int, ...]]) -> int:
    """Return the number of items if all legible answers order the same three or more numbers, else 0."""
    read = [order for order, answer in zip(orders, answers, strict=True) if answer is not None]
    alike = {tuple(sorted(order)) for order in read}
    one = len(alike) == 1 and all(len(set(order)) == len(order) >= 3 for order in read)
    return len(read[0]) if one else 0


def _at_first_token(units: Units, part_of: Tensor, part_value: Tensor, missing: int) -> Tensor:
    """Return the value of the part (turn or node) that each unit's first token belongs to, int64 [M].

    Args:
        part_of: part of each token, int64 [N].
        part_value: value of each part, int64 [K].
        missing: value of units without tokens and of tokens without a part.
    """
    inside = units.of_token >= 0
    tokens, none = torch.arange(len(units.of_token))[inside], len(units.of_token)
    first = torch.full_like(units.group, none).scatter_reduce_(0, units.of_token[inside], tokens, "amin")
    padded = torch.cat((part_value, part_value.new_tensor([missing])))
    return padded[torch.cat((part_of, part_of.new_tensor([-1])))[first]]


def _number_keys(keys: Iterable[Hashable]) -> Tensor:
    """Return a number for each key, int64; equal keys get equal numbers."""
    known: dict[Hashable, int] = {}
    return torch.tensor([known.setdefault(key, len(known)) for key in keys], dtype=torch.int64)
