"""``palaestra bench envs``: tasks made and answers checked per second on one core, against reasoning-gym and GEM.

Each line is one kind of task at a matched size, with the guarantees of each side and three rates: tasks made, answers
checked, and tasks made with two answers checked. Sides are measured in turns, in processor time, and medians over
rounds are compared; peers run in separate processes, under the Python where they are installed. Then follow the steps
per second of whole games through the full Gymnasium interface.

examples:
  palaestra bench envs
  palaestra bench envs --peer-python /path/to/venv/bin/python --rounds 7
  palaestra bench envs --only sudoku zebra --json envs.json
"""

from __future__ import annotations

import functools
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym

from ...envs import Question
from ...errors import InputError
from ..harness import Side, check_names, compare, make_table, read_options, track, wide_console, write_json
from ..peer_process import PeerProcess, open_peers
from . import peers
from .matches import GAMES, MATCHES, Match, PeerTask


@dataclass(frozen=True)
class EnvBenchOptions:
    only: tuple[str, ...] = ()
    """Names of the lines to measure; all by default."""
    peer_python: tuple[Path, ...] = ()
    """Python interpreters of virtual environments that have a peer installed."""
    rounds: int = 5
    """Number of measurements of each side."""
    seconds: float = 1.0
    """Processor time of one measurement."""
    games: bool = True
    """Also measure the steps per second of games."""
    json: Path | None = None
    """Write the figures here as JSON."""


Rates = dict[str, float]
"""Rates per second of processor time: tasks "made", answers "checked", and "both", tasks made with two answers checked
(a right and a wrong one, or two moves of a game)."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    config = read_options(EnvBenchOptions, "envs", argv, __doc__)
    known = {match.name: match for match in MATCHES}
    check_names("line", config.only, known)
    if config.rounds < 1 or config.seconds <= 0:
        raise InputError(f"--rounds and --seconds must be positive, not {config.rounds} and {config.seconds:g}.")
    with open_peers(config.peer_python or (Path(sys.executable),), peers.__file__) as first:
        matches = [known[name] for name in config.only] if config.only else list(MATCHES)
        rows = [(match, _measure(match, first, config)) for match in track(matches, "tasks")]
    versions = {name: peer.versions[name] for name, peer in first.items()}
    games = {env_id: steps_per_second(env_id, config.seconds) for env_id in GAMES} if config.games else {}
    _print(rows, games, versions)
    lines = []
    for match, sides in rows:
        rates = [{name: [one[name] for one in side.rounds] for name in ("made", "checked")} for side in sides]
        shown = [{"side": s.name, **found, "error": str(s.failure or "")} for s, found in zip(sides, rates)]
        lines.append({**asdict(match), "sides": shown})
    write_json(config.json, {"versions": versions, "tasks": lines, "steps_per_second": games})
    return 0


def _measure(match: Match, first: Mapping[str, PeerProcess], config: EnvBenchOptions) -> list[Side[Rates]]:
    """Measure our side and the installed peers; return the sides."""

    def rate(answer: Mapping[str, float]) -> Rates:
        made = answer["generated"] / max(answer["generating"], 1e-9)
        checked = answer["checked"] / max(answer["checking"], 1e-9)
        return {"made": made, "checked": checked, "both": 1.0 / (1.0 / made + 2.0 / checked)}

    def measure_ours(number: int) -> Rates:
        return rate(peers.measure_rates(make_source(match, number), config.seconds))

    def measure_theirs(task: PeerTask, number: int) -> Rates:
        request = {"peer": task.peer, "name": task.name, "config": dict(task.config), "first": 10_000 * number}
        answer = first[task.peer].ask(**request, seconds=config.seconds)
        if "error" in answer:
            raise PeerTaskError(answer["error"])
        return rate(answer)

    ours = Side("palaestra", measure_ours)
    theirs = [Side(task.peer, functools.partial(measure_theirs, task)) for task in match.peers if task.peer in first]
    compare([ours, *theirs], config.rounds, failures=(PeerTaskError,))
    return [ours, *theirs]


class PeerTaskError(Exception):
    """A peer raised an error."""


def make_source(match: Match, turn: int) -> peers.TaskSource:
    """Return a stream of our tasks of a line, each by a whole reset, and a function that checks a task.

    The check judges the solver's answer and a wrong one; in a game, it takes one step from the task's state.
    """
    env: Any = gym.make(match.env_id, disable_env_checker=True, split="all", **match.options).unwrapped
    env.reset(seed=turn)
    snapshot, over = env.get_state(), True

    def stream() -> Iterator[Any]:
        while True:
            env.reset()
            yield env.here()

    def check(task: Any) -> int:
        nonlocal over
        if isinstance(env, Question):
            env.verify(task, env.oracle(task))
            env.verify(task, "0")
            return 2
        if over:
            env.set_state({**snapshot, "state": task})
        _, _, terminated, truncated, _ = env.step(peers.MOVE)
        over = terminated or truncated
        return 1

    return stream(), check


def steps_per_second(env_id: str, seconds: float) -> float:
    """Return the steps per second of the solver's games through Gymnasium's wrappers; resets and the solver are not
    timed."""
    env: Any = gym.make(env_id, disable_env_checker=True)
    clock, steps, spent, seed = time.process_time, 0, 0.0, 0
    while spent < seconds:
        env.reset(seed=seed)
        seed += 1
        actions, snapshot, done = [], env.unwrapped.get_state(), False
        while not done:
            actions.append(env.unwrapped.oracle())
            _, _, terminated, truncated, _ = env.step(actions[-1])
            done = terminated or truncated
        env.reset(seed=seed)
        env.unwrapped.set_state(snapshot)
        begun = clock()
        for action in actions:
            env.step(action)
        spent += clock() - begun
        steps += len(actions)
    return steps / spent


def _print(
    rows: Sequence[tuple[Match, list[Side[Rates]]]], games: dict[str, float], versions: Mapping[str, str]
) -> None:
    console = wide_console()
    others = ", ".join(f"{name} {version}" for name, version in versions.items()) or "no peer installed"
    cells = []
    for match, (ours, *theirs) in rows:
        mine = (cell for name in ("made", "checked", "both") for cell in (_rate(ours, name), ""))
        cells.append((match.name, ours.name, *mine))
        for side in theirs:
            if side.failure:
                cells.append(("", side.name, "failed", "", "", "", "", ""))
                continue
            figures = ((_rate(side, name), _ratio(ours, side, name)) for name in ("made", "checked", "both"))
            cells.append(("", side.name, *(cell for pair in figures for cell in pair)))
    head = ("task", "side", "made", "ours / theirs", "checked", "ours / theirs", "both", "ours / theirs")
    title = f"Per second of processor time, against {others}"
    console.print(make_table(head, cells, text=2, title=title, plain=True))
    for match, sides in rows:
        promises = {"palaestra": match.promise, **{task.peer: task.promise for task in match.peers}}
        guarantees = "; ".join(f"{side.name}: {promises.get(side.name, '')}" for side in sides)
        console.print(f"{match.name} guarantees {guarantees}", highlight=False)
        for side in sides:
            if side.failure:
                console.print(f"{match.name} failed under {side.name}: {side.failure}", highlight=False)
    for env_id, rate in games.items():
        console.print(f"{env_id}: {rate:,.0f} steps/s", highlight=False)


def _rate(side: Side[Rates], name: str) -> str:
    middle = statistics.median(rates[name] for rates in side.rounds)
    return f"{middle:,.0f}" if middle >= 100 else f"{middle:.3g}"


def _ratio(ours: Side[Rates], theirs: Side[Rates], name: str) -> str:
    """Return the median over the rounds of the ratio of two sides' rates, as text."""
    return f"{statistics.median(a[name] / b[name] for a, b in zip(ours.rounds, theirs.rounds)):.3g}"
