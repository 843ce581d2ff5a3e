"""Groups survive a checkpoint to the last bit."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.trajectory import Group, Node, Origin, Turn, group_from_json, group_to_json
from palaestra.envs.extras import Extras

from ..conftest import trajectory  # isort: skip


def rich() -> Group:
    turns = (
        Turn(
            *((1, 2), (3, 4), (-0.1, math.log(1 / 3)), "length", 0.1 + 0.2, "seen", "done", {"a": 1e-300}),
            action_error="no",
            shaping=0.5,
        ),
        Turn(
            *((5,), (6,), (0.0,), "stop", -1.0),
            extras={"tests": ["wrong", ""]},
            origins=(Origin.HINT,),
            entropies=(0.7,),
            fresh=True,
        ),
    )
    one = replace(
        trajectory(0.0, [([1], [2])]),
        turns=turns,
        params={"digits": 3, "kind": "+", "share": 0.1},
        shaping={"length": -1 / 3},
        nodes=(Node("root", 2, None), Node("leaf", 1, 0.25)),
        advantage=-0.7,
        replaced=True,
        rescore=True,
        role="solver",
        version=7,
        guided=0.5,
    )
    return Group(12, (one, trajectory(1.0, [([1], [2])], valid=False)), greedy=0.5, drawn=(0.0, 1.0))


def test_a_group_is_the_same_after_json():
    again = group_from_json(json.loads(json.dumps(group_to_json(rich()))))
    assert again == rich()
    assert [type(x) for x in again.trajectories[0].turns[0].logps] == [float, float]


def test_only_the_newest_extras_are_saved_as_those_of_a_long_episode_hold_its_whole_past():
    past = [[0, 0], [0, 1], [1, 1]]
    turns = [
        Turn((1,), (2,), (0.0,), "stop", 0.0, extras=Extras({"positions"}, {"positions": past[:k]})) for k in (2, 3)
    ]
    group = Group(0, (replace(trajectory(0.0, [([1], [2])]), turns=tuple(turns)),))
    again = group_from_json(json.loads(json.dumps(group_to_json(group))))
    assert [turn.extras for turn in again.trajectories[0].turns] == [{}, {"positions": past}]
    assert (
        again.trajectories[0].episode.extras["positions"] == group.trajectories[0].episode.extras["positions"] == past
    )


def test_a_group_that_was_read_back_makes_the_same_batch():
    one, other = collate([rich()]), collate([group_from_json(json.loads(json.dumps(group_to_json(rich()))))])
    for name in ("ids", "origin", "node_of", "logp_mu", "turn_reward", "outcome", "rescore", "row_start"):
        assert getattr(one, name).equal(getattr(other, name)), name


@pytest.mark.parametrize("value", [np.int64(3), np.float64(0.1), np.bool_(True)])
def test_numbers_of_numpy_become_pythons(value):
    data = group_to_json(Group(0, (trajectory(1.0, [([1], [2])], params={"x": value}),)))
    assert json.loads(json.dumps(data))["trajectories"][0]["params"]["x"] == value
