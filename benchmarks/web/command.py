"""``palaestra bench web``: resets and random steps per second in both browsers, and agreement of the browsers.

Figures of the in-process browser are per second of processor time, first on new tasks, then on a few repeated ones;
figures of Chromium are per second of wall time, with several contexts of one browser. BrowserGym on MiniWoB++ is
measured in the same Chromium, too, if --peer-python has these packages:

  python -m venv peers && peers/bin/pip install browsergym-miniwob miniwob

examples:
  palaestra bench web
  palaestra bench web palaestra/Shop-v0 --no-chromium
  palaestra bench web --peer-python peers/bin/python --seconds 20
  palaestra bench web --agreement 500
  palaestra bench web --agreement 500 --widgets
  palaestra bench web --without-widgets 20
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import gymnasium as gym
import numpy as np
import tyro
from gymnasium.envs.registration import load_env_creator
from rich.console import Console

from ...envs import ids
from ...envs.web.browsers.chromium_engine import find_chromium
from ...envs.web.web_task import WebTaskEnv
from ...errors import InputError
from ..harness import check_names, check_pythons, make_table, read_options, track, write_json
from ..peer_process import PeerProcess
from . import peers
from .agreement import compare_backends
from .without_widgets import count_successes

_REPEATED = 10
"""Number of repeated tasks; their sites and pages all fit into the cache."""


@dataclass(frozen=True)
class WebBenchOptions:
    ids: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Ids of environments; by default all whose sites are part of this package."""
    seconds: float = 5.0
    """Seconds of one measurement."""
    chromium: bool = True
    """Also measure Chromium."""
    contexts: int = 4
    """Number of environments that share one Chromium."""
    agreement: int = 0
    """If above 0, play this number of episodes in both browsers instead, and count the episodes that differ."""
    widgets: bool = False
    """With --agreement: play only tasks that need widgets, and use widgets at random, too."""
    without_widgets: int = 0
    """If above 0, play this number of tasks of each template that needs widgets by a visitor who opens nothing
    instead, and count the successes."""
    seed: int = 0
    """Seed of the first episode."""
    peer_python: Path | None = None
    """Python interpreter of a virtual environment that has browsergym-miniwob."""
    peer_task: str = "click-test"
    """Task of MiniWoB++ for BrowserGym."""
    json: Path | None = None
    """Write the figures here as JSON."""


@dataclass(frozen=True)
class WebRates:
    """Resets and steps per second."""

    resets: float
    steps: float


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code, 1 if episodes differ."""
    config = read_options(WebBenchOptions, "web", argv, __doc__)
    known = web_ids()
    check_names("environment with a web site", config.ids, known)
    if config.seconds <= 0 or config.contexts < 1 or min(config.agreement, config.without_widgets) < 0:
        raise InputError("--seconds and --contexts must be positive, the other numbers not negative.")
    if config.widgets and not config.agreement:
        raise InputError("--widgets chooses the tasks of --agreement; give --agreement 500, too.")
    chosen = config.ids or tuple(known)
    if config.without_widgets:
        write_json(config.json, _count_without_widgets(chosen, config))
        return 0
    if config.chromium or config.agreement:
        find_chromium()
    found = _compare(chosen, config) if config.agreement else _measure(chosen, config)
    write_json(config.json, found)
    return 1 if found.get("differing") else 0


def web_ids() -> list[str]:
    """Return the ids of environments whose tasks are on sites of this package."""
    entries = {name: str(gym.spec(name).entry_point) for name in ids()}
    return [
        name
        for name, entry in entries.items()
        if ".envs.web." in entry and isinstance(kind := load_env_creator(entry), type) and issubclass(kind, WebTaskEnv)
    ]


def measure_rates(env_id: str, seconds: float, first: int, backend: str = "inprocess", contexts: int = 1) -> WebRates:
    """Measure resets and random steps per second, in episodes from the seed ``first`` on.

    Args:
        env_id: id of the environment.
        seconds: length of the measurement, in processor time, or in wall time with Chromium.
        first: the first seed.
        backend: "inprocess" or "chromium".
        contexts: number of environments, which step in turns.
    """
    clock = time.process_time if backend == "inprocess" else time.perf_counter
    envs: list[Any] = [gym.make(env_id, backend=backend, disable_env_checker=True).unwrapped for _ in range(contexts)]
    rng = np.random.default_rng(first)
    resets = steps = 0
    resetting = stepping = 0.0
    done = [True] * contexts
    try:
        # Load and start everything once before the measurement.
        for env in envs:
            env.reset(seed=first + 1_000_000)
            env.step("scroll down")
        while resetting + stepping < seconds or not steps:
            for place, env in enumerate(envs):
                if done[place]:
                    begun = clock()
                    env.reset(seed=first + resets)
                    resetting += clock() - begun
                    resets += 1
                action = env.random_action(env.here(), rng)
                begun = clock()
                _, _, terminated, truncated, _ = env.step(action)
                stepping += clock() - begun
                steps += 1
                done[place] = terminated or truncated
    finally:
        for env in envs:
            env.close()
    return WebRates(resets / resetting, steps / stepping)


def _measure(chosen: Sequence[str], config: WebBenchOptions) -> dict[str, Any]:
    figures: dict[str, dict[str, WebRates]] = {}
    rows = []
    for env_id in track(chosen, "measuring"):
        # The same seeds again; their sites and pages are cached, as far as they fit.
        figures[env_id] = {
            "in process, new tasks": measure_rates(env_id, config.seconds, config.seed),
            "in process, repeated": _measure_again(env_id, config.seconds, config.seed),
        }
        if config.chromium:
            name = f"Chromium, {config.contexts} contexts"
            figures[env_id][name] = measure_rates(env_id, config.seconds, config.seed, "chromium", config.contexts)
        rows += [(env_id, name, rates) for name, rates in figures[env_id].items()]
    theirs = _measure_peer(config)
    if theirs and "error" not in theirs:
        rates = WebRates(theirs["resets"] / theirs["resetting"], theirs["steps"] / theirs["stepping"])
        figures["browsergym"] = {config.peer_task: rates}
        rows.append((f"MiniWoB++ {config.peer_task}, BrowserGym {theirs['version']}", "Chromium", rates))
    console = Console()
    cells = [(*names, f"{rates.resets:,.1f}", f"{rates.steps:,.1f}") for *names, rates in rows]
    console.print(make_table(("environment", "browser", "resets / s", "random steps / s"), cells))
    if not theirs:
        console.print("BrowserGym is not measured: name a Python that has it (see --help) by --peer-python.")
    elif "error" in theirs:
        console.print(f"BrowserGym is not measured: {theirs['error']}", highlight=False)
    return {name: {kind: asdict(rates) for kind, rates in sides.items()} for name, sides in figures.items()}


def _measure_again(env_id: str, seconds: float, first: int) -> WebRates:
    """Measure the rates on a few tasks that have been played before."""
    env: Any = gym.make(env_id, disable_env_checker=True).unwrapped
    begun, resets, resetting, steps, stepping = time.process_time(), 0, 0.0, 0, 0.0
    while time.process_time() - begun < seconds or resets < 2 * _REPEATED:
        counts, rng = resets >= _REPEATED, np.random.default_rng(resets % _REPEATED)
        start = time.process_time()
        env.reset(seed=first + resets % _REPEATED)
        resetting += (time.process_time() - start) * counts
        resets, done = resets + 1, False
        while not done:
            action = env.random_action(env.here(), rng)
            start = time.process_time()
            _, _, terminated, truncated, _ = env.step(action)
            stepping += (time.process_time() - start) * counts
            steps += counts
            done = terminated or truncated
    env.close()
    return WebRates((resets - _REPEATED) / resetting, steps / stepping)


def _measure_peer(config: WebBenchOptions) -> dict[str, Any]:
    """Return the counts of BrowserGym, or an error in words; {} without Chromium or without --peer-python."""
    if config.peer_python is None or not config.chromium:
        return {}
    check_pythons([config.peer_python])
    with contextlib.closing(PeerProcess(config.peer_python, peers.__file__)) as peer:
        if "browsergym-miniwob" not in peer.versions:
            return {"error": f"{str(config.peer_python)!r} has no browsergym-miniwob."}
        if not peer.versions["miniwob pages"]:
            return {"error": "the pages of MiniWoB++ are missing: pip install miniwob there, or set MINIWOB_URL."}
        found = peer.ask(chromium=find_chromium(), task=config.peer_task, seconds=config.seconds, first=config.seed)
        return {**found, "version": peer.versions["browsergym-miniwob"]}


def _compare(chosen: Sequence[str], config: WebBenchOptions) -> dict[str, Any]:
    played = compare_backends(chosen, config.agreement, config.seed, widgets=config.widgets)
    episodes = list(track(played, "playing", config.agreement))
    differing = [one for one in episodes if one.difference]
    steps = sum(one.steps for one in episodes)
    console = Console()
    console.print(f"{len(differing)} of {len(episodes)} episodes with {steps:,} steps differ between the browsers.")
    for one in differing:
        console.print(f"{one.env_id}, seed {one.seed}, {one.player}: {one.difference}", markup=False, highlight=False)
    return {"episodes": len(episodes), "steps": steps, "differing": [asdict(one) for one in differing]}


def _count_without_widgets(chosen: Sequence[str], config: WebBenchOptions) -> list[dict[str, Any]]:
    counts = list(track(count_successes(chosen, config.without_widgets, config.seed), "playing"))
    cells = [(one.env_id, one.template, f"{one.successes} of {one.tasks}") for one in counts]
    console = Console()
    console.print(make_table(("environment", "template", "successes without widgets"), cells))
    console.print(f"Without a success: {sum(not one.successes for one in counts)} of {len(counts)} templates.")
    return [asdict(one) for one in counts]
