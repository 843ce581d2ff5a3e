"""The shop in Chromium: observations, rewards and end states as within the process, and nothing left behind."""

from __future__ import annotations

import contextlib
import gc
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import palaestra
import pytest
from palaestra.envs.web.browsers.chromium_engine import VARIABLE, engine
from palaestra.envs.web.sites.databases import connect, release
from palaestra.envs.web.tasks.template import judged_rows
from palaestra.errors import InputError

from ....patience import wait_until  # isort: skip
from .pages import missing_chromium

OTHERS = ("back", "forward", "new_tab", "tab 0", "close_tab", "key Tab", "key Enter", "key ArrowDown", 'write "a"')
SOURCES = str(Path(palaestra.__file__).parents[1])


@pytest.fixture
def pair() -> Any:
    """The same environment with both backends."""
    if missing_chromium():
        pytest.skip(missing_chromium())
    envs = [
        gym.make("palaestra/Shop-v0", backend=backend, disable_env_checker=True).unwrapped
        for backend in ("inprocess", "chromium")
    ]
    yield envs
    for env in envs:
        env.close()


def rows(state: Any) -> Any:
    database = connect(state.database)
    found = judged_rows("shop", database)
    release(database)
    return found


@pytest.mark.parametrize("player", ["solver", "random"])
def test_both_browsers_agree_on_whole_episodes(pair: Any, player: str):
    fast, real = pair
    for seed in range(2 if player == "solver" else 4):
        rng = np.random.default_rng(seed)
        options = {"difficulty": (0.0, 0.3, 0.6)[seed % 3]}
        assert fast.reset(seed=seed, options=options)[0] == real.reset(seed=seed, options=options)[0]
        done = False
        while not done:
            action = fast.oracle() if player == "solver" else fast.random_action(fast.here(), rng)
            if player == "random" and rng.random() < 0.3:
                action = OTHERS[rng.integers(len(OTHERS))]
            one, other = fast.step(action), real.step(action)
            assert one[:4] == other[:4], (seed, action)
            assert {**one[4], "extras": 0} == {**other[4], "extras": 0}
            assert fast.here().tab.cookies == real.here().tab.cookies
            done = one[2] or one[3]
        assert rows(fast.here()) == rows(real.here())
        assert player == "random" or one[4]["is_success"]


def test_a_snapshot_of_one_backend_goes_on_in_the_other(pair: Any):
    fast, real = pair
    for seed in (11, 12):
        fast.reset(seed=seed, options={"difficulty": 0.2})
        plan = fast.plan(fast.here())
        for action in plan[:-3]:
            fast.step(action)
        real.set_state(fast.get_state())
        assert real.observe(real.here()) == fast.observe(fast.here())
        for action in plan[-3:]:
            assert fast.step(action)[:4] == real.step(action)[:4]
        assert real.get_state()["ended"]


def test_pictures_show_the_page(pair: Any):
    env = gym.make("palaestra/Shop-v0", backend="chromium", render_mode="rgb_array", disable_env_checker=True).unwrapped
    env.reset(seed=0)
    picture = env.render()
    assert picture.shape == (768, 1024, 3)
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 50
    env.close()


def test_windows_are_not_drawn_until_somebody_asks_for_a_picture(pair: Any):
    env: Any = gym.make("palaestra/Shop-v0", backend="chromium", disable_env_checker=True).unwrapped
    env.reset(seed=0)
    tab = env._open.browser._tab

    def state() -> str:
        session = tab.context.new_cdp_session(tab)
        return session.send("Browser.getWindowForTarget")["bounds"]["windowState"]

    assert engine().call(state) == "minimized"
    env._open.browser.picture()
    assert engine().call(state) == "normal"
    env.close()


def test_closed_and_forgotten_environments_give_their_contexts_back(pair: Any):
    def contexts() -> int:
        running = engine()
        return running.call(lambda: len(running.chromium.contexts))

    before = contexts(), len(engine().sites)
    for closed in (True, False, True):
        env = gym.make("palaestra/Shop-v0", backend="chromium", disable_env_checker=True).unwrapped
        env.reset(seed=0)
        assert contexts() == before[0] + 1
        if closed:
            env.close()
        del env
        gc.collect()
        assert (contexts(), len(engine().sites)) == before


def test_a_lost_browser_is_no_fault_of_the_agent(pair: Any):
    _, real = pair
    real.reset(seed=0)
    browser = real._open.browser
    engine().call(browser._tab.close)
    _, reward, terminated, _, info = real.step("click [4]")
    assert (reward, terminated, info["reward_valid"]) == (0.0, False, False)
    assert "failed" in info["action_error"]
    assert real.step("click [4]")[4]["reward_valid"] is True
    lost = engine()
    lost.call(lost.chromium.close)
    assert real.step("click [4]")[4]["reward_valid"] is False
    real.reset(seed=0)
    assert real.step("click [4]")[4]["reward_valid"] is True
    assert engine() is not lost


def test_a_process_that_ends_without_closing_leaves_no_process_and_no_port():
    if missing_chromium():
        pytest.skip(missing_chromium())
    program = """
        import gymnasium as gym, palaestra
        env = gym.make("palaestra/Shop-v0", backend="chromium", disable_env_checker=True)
        env.reset(seed=0)
        print(env.step("click [4]")[4]["action_error"])
    """
    environment = {**os.environ, "PALAESTRA_MARK": f"shop-{os.getpid()}", "PYTHONPATH": SOURCES}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.stdout == "None\n", done.stderr
    assert done.returncode == 0
    mark = environment["PALAESTRA_MARK"].encode()

    def left() -> Iterator[Path]:
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if mark in (process / "environ").read_bytes():
                    yield process

    # It has told them to end, which takes a moment.
    wait_until(lambda: not [*left()])


def test_a_missing_chromium_is_one_sentence_with_the_remedy(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(VARIABLE, "/nowhere/chromium")
    with pytest.raises(InputError, match="Debian's package chromium"):
        gym.make("palaestra/Shop-v0", backend="chromium")
