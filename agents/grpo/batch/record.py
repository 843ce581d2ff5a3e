"""Groups and trajectories as plain JSON data and back, exactly, so that what is remembered of them can be saved.

Ids, origins and log-probabilities go in and come out unchanged: JSON writes a float in the shortest form that reads
back as the same number. Only what a parameter space never gives (numbers of NumPy's own types) becomes Python's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .trajectory import Group, Node, Trajectory, Turn


def group_to_json(group: Group) -> dict[str, Any]:
    """The group as data for `json.dumps`; `group_from_json` is the inverse."""
    return {
        "proposal": group.proposal,
        "trajectories": [trajectory_to_json(trajectory) for trajectory in group.trajectories],
        "greedy": group.greedy,
        "drawn": list(group.drawn),
    }


def group_from_json(data: Mapping[str, Any]) -> Group:
    """The group that `group_to_json` wrote."""
    members = tuple(trajectory_from_json(item) for item in data["trajectories"])
    return Group(data["proposal"], members, data["greedy"], tuple(data["drawn"]))


def trajectory_to_json(trajectory: Trajectory) -> dict[str, Any]:
    """The trajectory as data for `json.dumps`; `trajectory_from_json` is the inverse."""
    data = {name: _plain(getattr(trajectory, name)) for name in _TRAJECTORY}
    data["turns"] = [{name: _plain(getattr(turn, name)) for name in _TURN} for turn in trajectory.turns]
    data["nodes"] = [[node.key, node.tokens, node.value] for node in trajectory.nodes]
    return data


def trajectory_from_json(data: Mapping[str, Any]) -> Trajectory:
    """The trajectory that `trajectory_to_json` wrote."""
    turns = tuple(Turn(**{**turn, **{name: tuple(turn[name]) for name in _SEQUENCES}}) for turn in data["turns"])
    nodes = tuple(Node(*node) for node in data["nodes"])
    return Trajectory(**{**data, "turns": turns, "nodes": nodes})


_SEQUENCES = ("obs_ids", "act_ids", "logps", "origins", "entropies")
_TURN = tuple(Turn.__dataclass_fields__)
_TRAJECTORY = tuple(name for name in Trajectory.__dataclass_fields__ if name not in ("turns", "nodes"))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value
