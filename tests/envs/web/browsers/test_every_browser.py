"""Many episodes in a row leave nothing behind: no process, port, file, context, thread or database."""

from __future__ import annotations

import contextlib
import gc
import os
import shutil
import signal
import sqlite3
import tempfile
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import palaestra  # noqa: F401  # registers the ids
import pytest
from palaestra.envs.web.browsers.browser import BROWSERS
from palaestra.envs.web.browsers.chromium_engine import engine
from palaestra.envs.web.sites.databases import MOST_IDLE

from ....patience import wait_until  # isort: skip
from .pages import missing_chromium

IDS = [f"palaestra/{site}-v0" for site in ("Shop", "Forum", "Booking", "Admin", "Tracker")]
EPISODES = {"inprocess": 200, "chromium": 60}
"""Three times the twenty different ones, where each takes a tenth of a second."""


def make(place: int, backend: str) -> Any:
    return gym.make(IDS[place % len(IDS)], backend=backend, disable_env_checker=True).unwrapped


def processes() -> set[str]:
    """The processes below this one."""
    parents: dict[str, str] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[folder.name] = (folder / "stat").read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
    found = {str(os.getpid())}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def held(backend: str) -> Counter[str]:
    """What this process holds, and how much of it."""
    found = Counter({"processes": len(processes()), "threads": threading.active_count()})
    found["files"] = sum("playwright" in path.name for path in Path(tempfile.gettempdir()).iterdir())
    for link in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            target = os.readlink(link).partition(":")[0]
            # multiprocessing keeps the memory that it shared.
            found[f"descriptor {target}"] += "/dev/shm/pym-" not in target
    if backend == "chromium":
        running = engine()
        found["contexts"] = running.call(lambda: len(running.chromium.contexts))
        found["sites"] = len(running.sites) + len(running.replays) + len(running.cookies_set)
    return found


def assert_given_back(backend: str, before: Counter[str], seconds: float = 60.0) -> None:
    """Nothing is held that was not held before; Chromium takes a moment to end processes and connections."""
    end = time.monotonic() + seconds
    while (more := held(backend) - before) and time.monotonic() < end:
        gc.collect()
        time.sleep(0.05)
    assert not more
    assert sum(type(one) is sqlite3.Connection for one in gc.get_objects()) <= MOST_IDLE + 4


@pytest.fixture(params=list(BROWSERS))
def backend(request: pytest.FixtureRequest) -> str:
    if request.param == "chromium" and missing_chromium():
        pytest.skip(missing_chromium())
    # What is started once, and kept: the browser, and its processes in reserve.
    for place in range(2):
        env = make(place, request.param)
        env.reset(seed=0)
        env.close()
    return request.param


def test_many_episodes_leave_nothing_behind(backend: str):
    before, env = held(backend), make(0, backend)
    for seed in range(EPISODES[backend]):
        env.reset(seed=seed % 20)
        if seed % 10 == 0:
            env.step("click [3]")
    env.close()
    for place in range(10):
        other = make(place, backend)
        other.reset(seed=place)
        other.step("click [1]")
        if place % 2:
            other.close()
        del other
    assert_given_back(backend, before)


def test_an_exception_in_a_step_leaves_nothing_behind_and_the_episode_goes_on(
    backend: str, monkeypatch: pytest.MonkeyPatch
):
    before, env, other = held(backend), make(1, backend), make(1, "inprocess")
    for one in (env, other):
        one.reset(seed=3)
        one.step("click [1]")

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        # The browser has gone on, and the environment has not.
        patch.setattr(env._open.browser, "tab", interrupt)
        with pytest.raises(KeyboardInterrupt):
            env.step("click [3]")
    assert env.step("click [4]")[:4] == other.step("click [4]")[:4]
    ends = [replace(one.here(), tab=replace(one.here().tab, html="")) for one in (env, other)]
    assert ends[0] == ends[1]
    env.close()
    assert_given_back(backend, before)


def test_killed_workers_leave_no_process_and_no_file(backend: str):
    before = held(backend)
    kill_workers(backend)
    assert_given_back(backend, before)


def kill_workers(backend: str) -> None:
    envs: Any = gym.make_vec(IDS[2], num_envs=2, vectorization_mode="async", backend=backend)
    envs.reset(seed=0)
    envs.step(["click [1]", "click [2]"])
    for process in envs.processes:
        os.kill(process.pid, signal.SIGKILL)
        process.join()
    with pytest.raises((EOFError, OSError)):
        envs.step(["click [1]", "click [2]"])
    envs.close(terminate=True)


@pytest.fixture
def own_folder(monkeypatch: pytest.MonkeyPatch):
    """A folder for the temporary files of Chromium, which cannot remove them when it is killed. Its path is short, as
    Chromium puts a socket there."""
    if missing_chromium():
        pytest.skip(missing_chromium())
    engine().stop()
    folder = tempfile.mkdtemp()
    monkeypatch.setenv("TMPDIR", folder)
    yield
    engine().stop()

    def remove() -> bool:
        shutil.rmtree(folder, ignore_errors=True)
        return not Path(folder).exists()

    # A process that is about to end may write there yet.
    wait_until(remove)


@pytest.mark.usefixtures("own_folder")
def test_a_killed_chromium_is_replaced_and_nothing_of_it_is_left():
    env = make(0, "chromium")
    env.reset(seed=0)
    before, lost = held("chromium"), engine()
    commands: dict[str, bytes] = {}
    for one in processes():
        with contextlib.suppress(OSError):  # one that has just ended
            commands[one] = Path(f"/proc/{one}/cmdline").read_bytes()
    (browser,) = (one for one, line in commands.items() if b"--remote-debugging" in line and b"--type=" not in line)
    os.kill(int(browser), signal.SIGKILL)
    assert env.step("click [1]")[4]["reward_valid"] is False
    env.reset(seed=0)
    assert env.step("click [1]")[4]["reward_valid"] is True
    assert engine() is not lost
    assert_given_back("chromium", before)
    env.close()
