"""The protocol of outcomes and records."""

from __future__ import annotations

import json
import math

import gymnasium as gym
import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers import TEACHERS, BoxTeacher, Draw, Outcome, Teacher, as_cube, make, register
from palaestra.teachers.combinators import Mix


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_no_return_cost_or_extra_may_be_nan_or_infinite(bad):
    with pytest.raises(InputError, match="not finite"):
        Outcome(0, 1, [0.5, bad])
    with pytest.raises(InputError, match="not finite"):
        Outcome(0, 1, [0.5], cost=bad)
    with pytest.raises(InputError, match="not finite"):
        Outcome(0, 1, [0.5], extras={"abs_adv": [bad]})


def test_successes_and_extras_have_one_value_per_return():
    with pytest.raises(InputError, match="2 returns but 1 values in successes"):
        Outcome(0, 1, [0.5, 0.5], successes=[True])
    with pytest.raises(InputError, match="extra 'abs_adv'"):
        Outcome(0, 1, [0.5], extras={"abs_adv": [1.0, 2.0]})


def test_arrays_are_taken_and_kept_as_plain_numbers():
    outcome = Outcome(0, 1, np.array([0.25, 1.0], np.float32), successes=np.array([False, True]))
    assert outcome.returns == (0.25, 1.0)
    assert outcome.successes == (False, True)
    assert type(outcome.returns[0]) is float


def test_a_return_that_is_no_sequence_of_numbers_is_refused():
    for bad in (0.5, ["high"], None):
        with pytest.raises(InputError, match="sequence of numbers"):
            Outcome(0, 1, bad)


class Follower(Teacher):
    """Draws one point without a record; the point of its latest outcome is what it knows."""

    def __init__(self, space, **common):
        self.cube = self.domain = as_cube(space)
        self.latest = None
        super().__init__(self.cube.signature, **common)

    def _draw(self, k):
        return [Draw(None, self.cube.decode(np.array([0.25, 0.5]))) for _ in range(k)]

    def _record(self, task):
        return self.cube.encode(task)

    def _learn(self, evidence):
        self.latest = evidence[-1].record


class Near(BoxTeacher):
    """A teacher with a constructor that is written out."""

    def __init__(self, space, *, width=0.1, **common):
        self.width = width
        super().__init__(space, settings={"width": width}, **common)

    def _points(self, k):
        return self._rng.random((k, self.cube.dimension)) * self.width, np.nan, "explore"

    def _learn(self, evidence):
        pass


def test_a_constructor_that_is_written_out_passes_its_settings_and_the_common_options_on():
    box = gym.spaces.Box(0.0, 1.0, (2,))
    try:
        register("near")(Near)
        near = make("near", box, seed=3, width=0.2, return_range=(0, 2))
        with pytest.raises(InputError, match="did you mean 'width'"):
            make("near", box, widht=0.2)
    finally:
        TEACHERS._entries.pop("near", None)
    assert near.state_dict()["settings"] == {"width": 0.2, "return_range": [0.0, 2.0]}
    assert near.propose(1)[0].task == pytest.approx(np.random.default_rng(np.random.SeedSequence(3)).random(2) * 0.2)
    Near(box, width=0.2, return_range=(0, 2)).load_state_dict(near.state_dict())
    with pytest.raises(InputError, match="settings"):
        Near(box, return_range=(0, 2)).load_state_dict(near.state_dict())


def test_a_draw_without_a_record_gets_that_of_its_task_and_is_learned_from_alike_everywhere():
    box = gym.spaces.Box(0.0, 1.0, (2,))
    follower, later = Follower(box), Follower(box)
    first, second = follower.propose(2)
    follower.observe([Outcome(first.id, first.task, [1.0])])
    assert follower.latest == [0.25, 0.5]
    later.load_state_dict(json.loads(json.dumps(follower.state_dict())))
    later.observe([Outcome(second.id, second.task, [1.0])])
    assert later.latest == [0.25, 0.5]
    follower.update(first.task, 0.0)
    assert follower.latest == [0.25, 0.5]
    follower.latest = None
    Mix(follower, 0.5).update(first.task, 1.0)
    assert follower.latest == [0.25, 0.5]
