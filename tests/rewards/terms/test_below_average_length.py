from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make

Maker = Callable[..., Episode]


def test_shorter_than_the_groups_before_is_concise(episode: Maker):
    reward = make("below-average-length")
    assert make("below-average-length")(episode(tokens=0)).reward == 0.0  # nobody was there before
    assert [verdict.reward for verdict in reward.group([episode(tokens=10), episode(tokens=20)])] == [0.0, 0.0]
    # the average is now 15, for all of the next group alike
    assert [verdict.reward for verdict in reward.group([episode(tokens=n) for n in (14, 15, 99)])] == [1.0, 0.0, 0.0]
    # (30 + 128) / 5 = 31.6
    assert [verdict.reward for verdict in reward.group([episode(tokens=31), episode(tokens=32)])] == [1.0, 0.0]


def test_a_resumed_run_keeps_its_average(episode: Maker):
    reward, resumed = make("below-average-length"), make("below-average-length")
    reward.group([episode(tokens=10)])
    resumed.load_state_dict(json.loads(json.dumps(reward.state_dict())))
    assert resumed.group([episode(tokens=9)])[0].reward == 1.0
    with pytest.raises(InputError, match="saved state"):
        resumed.load_state_dict({"front": []})
