"""Checks of an environment's axes: documented, monotone in difficulty, usable up to their limits, set as requested."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from ...errors import InputError
from ..param_space import ChoiceAxis
from .playing import episode, make

HEADINGS = ("Description:", "Parameters:", "Observation:", "Actions:", "Reward:", "Termination:", "Source:")


def test_open_axes_reach_their_limits(env_id: str):
    env = make(env_id)
    space = env.unwrapped.param_space  # type: ignore[attr-defined]
    for axis in space.axes:
        if isinstance(axis, ChoiceAxis) or axis.limits == (axis.low, axis.high):
            continue
        for limit in set(axis.limits) - {axis.low, axis.high}:
            assert make(env_id, axes={axis.name: [min(limit, axis.low), max(limit, axis.high)]})
            wide = make(env_id, difficulty=0.0, **{axis.name: limit})
            last = episode(wide, 0, params={axis.name: limit})
            assert last[1]["params"][axis.name] == limit
            assert last[-1][5]["is_success"] is True
    if space.max_difficulty > 1.0:
        beyond = 1.0 + (space.max_difficulty - 1.0) / 4
        _, info, *steps = episode(env, 0, difficulty=beyond)
        assert info["difficulty"] > 1.0
        assert steps[-1][5]["is_success"] is True


def test_difficulty_is_monotone_in_every_axis(env_id: str):
    space = make(env_id).unwrapped.param_space  # type: ignore[attr-defined]
    assert len(space) >= 1
    assert space.difficulty(space.at(0.0)) == 0.0
    assert space.difficulty(space.at(1.0)) == 1.0
    ladder = [space.at(step / 50) for step in range(51)]
    for axis in [axis for axis in space.axes if axis.harder is not None]:
        units = [axis.to_unit(params[axis.name]) for params in ladder]
        assert units == sorted(units, reverse=axis.harder == "down")
        assert len(set(units)) > 1


def test_docstring_has_the_fixed_headings_and_names_every_axis(env_id: str):
    env = make(env_id).unwrapped
    doc = type(env).__doc__ or ""
    positions = [doc.find(heading) for heading in HEADINGS]
    assert -1 not in positions
    assert positions == sorted(positions)
    parameters = doc[positions[1] : positions[2]]
    for axis in env.param_space.axes:  # type: ignore[attr-defined]
        assert axis.name in parameters
        ends = axis.choices if isinstance(axis, ChoiceAxis) else (axis.low, axis.high, *axis.limits)
        assert all(str(end) in parameters for end in ends)


def test_parameters_follow_the_request(env_id: str):
    env = make(env_id)
    space = env.unwrapped.param_space  # type: ignore[attr-defined]
    hardest = space.complete({}, np.random.default_rng(0), 1.0)
    # A difficulty does not set an axis on which no value is harder.
    choice = {axis.name: hardest[axis.name] for axis in space.axes if axis.harder is None}
    assert env.reset(seed=0, options={"difficulty": 1.0, "params": choice})[1]["params"] == hardest
    assert env.reset(seed=0, options={"params": hardest})[1]["params"] == hardest
    name = space.names[0]
    part = env.reset(seed=0, options={"params": {name: hardest[name]}, "difficulty": 0.0})[1]["params"]
    assert part == {**space.validate({**space.at(0.0), **choice}), name: hardest[name]}
    fixed = make(env_id, **{name: hardest[name]})
    assert {fixed.reset(seed=seed)[1]["params"][name] for seed in range(5)} == {hardest[name]}
    assert len({json.dumps(env.reset(seed=seed)[1]["params"]) for seed in range(20)}) > 5


def test_value_out_of_range_is_refused_naming_axis_and_range(env_id: str):
    env = make(env_id)
    for axis in env.unwrapped.param_space.axes:  # type: ignore[attr-defined]
        choice = isinstance(axis, ChoiceAxis)
        ends = axis.choices if choice else axis.limits
        for bad in ["none of these", None] if choice else [ends[0] - 1, ends[1] + 1, "3", None]:
            with pytest.raises(InputError) as by_reset:
                env.reset(options={"params": {axis.name: bad}})
            with pytest.raises(InputError) as by_make:
                make(env_id, **{axis.name: bad})
            for error in (by_reset, by_make):
                assert axis.name in str(error.value)
                assert repr(bad) in str(error.value)
                assert all(str(end) in str(error.value) for end in ends)


@pytest.mark.parametrize(
    "wrong",
    [{"difficulty": 1e9}, {"difficulty": "hard"}, {"split": "tests"}, {"sead": 1}, {"axes": 3}, {"axes": {"q": 1}}],
)
def test_wrong_arguments_are_refused_in_one_sentence(env_id: str, wrong: dict[str, Any]):
    with pytest.raises(InputError) as error:
        make(env_id, **wrong)
    assert "\n" not in str(error.value)
