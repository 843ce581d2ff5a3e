"""Every replay against numbers worked out by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from palaestra.agents.grpo.batch.trajectory import Group
from palaestra.agents.grpo.components.replay.past_successes import PastSuccesses
from palaestra.agents.grpo.recipes.stages import REPLAYS
from palaestra.errors import InputError

from .conftest import make_groups, rng  # isort: skip


def tenth(step: int) -> list[Group]:
    """A step with failures, successes and repeated tasks."""
    tasks = [f"task {(step + i) % 3}" for i in range(4)]
    outcomes = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (1.0, 0.0, 0.0, 0.0)]
    return [
        replace(
            make_groups(step, r, task, lengths=[1 + (step + i) % 4 for i in range(len(r))], logp=-0.3)[0], proposal=i
        )
        for i, (task, r) in enumerate(zip(tasks, outcomes, strict=True))
    ]


@pytest.mark.parametrize("name", list(REPLAYS))
def test_a_resumed_replay_mixes_the_same(name):
    one, other = REPLAYS[name](), REPLAYS[name]()
    for step in range(1, 8):
        one.mix(tenth(step), step, rng(step))
    other.load_state_dict(json.loads(json.dumps(one.state_dict())))
    for step in range(8, 14):
        assert one.mix(tenth(step), step, rng(step)) == other.mix(tenth(step), step, rng(step))
    assert one.state_dict() == other.state_dict()


@pytest.mark.parametrize("name", [n for n in REPLAYS if n != "none"])
def test_the_memory_is_bounded(name):
    replay = REPLAYS[name](capacity=5)
    for step in range(1, 30):
        replay.mix(tenth(step), step, rng(step))
    assert len(replay) <= 5


@pytest.mark.parametrize("name", list(REPLAYS))
def test_log_probabilities_and_versions_are_those_of_sampling(name):
    replay = REPLAYS[name]()
    for step in range(1, 10):
        for mixed in replay.mix(tenth(step), step, rng(step)):
            assert 0 <= mixed.proposal < 4
            for t in mixed.trajectories:
                assert t.version <= step
                assert all(logp == -0.3 for turn in t.turns for logp in turn.logps)


@pytest.mark.parametrize("name", list(REPLAYS))
def test_an_empty_step_is_no_trouble(name):
    replay = REPLAYS[name]()
    replay.mix(tenth(1), 1, rng())
    replay.mix([], 2, rng())
    assert replay.mix(tenth(3), 3, rng())


def test_a_wrong_name_is_refused_with_the_right_ones():
    with pytest.raises(InputError, match="did you mean 'entropy'"):
        PastSuccesses(criterion="entropie")
