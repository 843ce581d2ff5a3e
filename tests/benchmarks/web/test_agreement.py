"""A sample of what ``palaestra bench web --agreement 500`` plays, and that a difference is found."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from palaestra.benchmarks.web.agreement import compare_backends, play_both, random_action
from palaestra.benchmarks.web.command import web_ids
from palaestra.envs.web.browsers.chromium_engine import find_chromium
from palaestra.envs.web.browsers.commands import Command, read_command
from palaestra.envs.web.browsers.page_cache import parse_page
from palaestra.envs.web.browsers.widgets import find_effects
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


def test_both_browsers_agree_on_tasks_with_widgets():
    try:
        find_chromium()
    except InputError as error:
        pytest.skip(str(error))
    names = ["palaestra/Forum-v0", "palaestra/WebLong-v0", "palaestra/Tracker-v0"]
    episodes = list(compare_backends(names, 4, widgets=True))
    assert [(one.env_id, one.player, one.difference) for one in episodes] == [
        (name, player, "") for name in (names[0], names[2]) for player in ("solver", "both")
    ]


def test_players_at_random_use_every_kind_of_event_of_the_widgets_on_a_page():
    env: Any = gym.make("palaestra/Shop-v0", templates="copy-code", disable_env_checker=True).unwrapped
    env.reset(seed=3)
    while "/details/" not in env.here().tab.path:
        env.step(env.oracle())
    page, rng, used = parse_page(env.here().tab.html), np.random.default_rng(0), set()
    for _ in range(300):
        command = read_command(random_action(env, rng))
        assert isinstance(command, Command)
        if command.number:
            element = page.controls[command.number - 1].element
            event = {"fill": "input", "press": command.text}.get(command.verb, command.verb)
            used.update([event] if find_effects(element, event) else [])
    assert used == {"click", "input", "Enter", "Escape"}


def test_a_difference_is_found_and_named():
    plain, other = (
        gym.make("palaestra/Shop-v0", observation=kind, disable_env_checker=True).unwrapped for kind in ("tree", "html")
    )
    assert "observation: " in play_both((plain, other), "palaestra/Shop-v0", 0).difference
    limited = gym.make("palaestra/Shop-v0", slack=5.0, disable_env_checker=True).unwrapped
    assert play_both((plain, limited), "palaestra/Shop-v0", 0).difference.startswith("info ")
