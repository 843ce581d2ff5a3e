"""A sample of what ``palaestra bench web --agreement 500`` plays, and that a difference is found."""

from __future__ import annotations

import gymnasium as gym
import pytest
from palaestra.benchmarks.web.agreement import compare_backends, play_both
from palaestra.benchmarks.web.command import web_ids
from palaestra.envs.web.browsers.chromium_engine import find_chromium
from palaestra.errors import InputError


def test_both_browsers_agree_on_a_sample():
    try:
        find_chromium()
    except InputError as error:
        pytest.skip(str(error))
    names = web_ids()
    episodes = list(compare_backends(names, 2 * len(names)))
    assert [episode.difference for episode in episodes] == [""] * 2 * len(names)
    assert {(episode.env_id, episode.player) for episode in episodes} == {
        (name, player) for name in names for player in ("solver", "random")
    }
    assert sum(episode.steps for episode in episodes) > 10


def test_a_difference_is_found_and_named():
    plain, other = (
        gym.make("palaestra/Shop-v0", observation=kind, disable_env_checker=True).unwrapped for kind in ("tree", "html")
    )
    assert "observation: " in play_both((plain, other), "palaestra/Shop-v0", 0).difference
    limited = gym.make("palaestra/Shop-v0", slack=5.0, disable_env_checker=True).unwrapped
    assert play_both((plain, limited), "palaestra/Shop-v0", 0).difference.startswith("info ")
