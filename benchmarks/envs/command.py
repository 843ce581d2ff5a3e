"""``palaestra bench envs``: tasks made and answers checked per second on one core, against reasoning-gym and GEM.

Each line is one kind of task at a matched size, with the guarantees of each side: tasks made, answers checked, and
tasks made with two answers checked. Both sides are measured in turns, in processor time, and the median of the rounds
is compared; peers run in processes of their own, under the Python where they are installed. Then follow the steps per
second of whole games through the full Gymnasium interface.

examples:
  palaestra bench envs
  palaestra bench envs --peer-python /path/to/venv/bin/python --rounds 7
  palaestra bench envs --only sudoku zebra --json envs.json
"""

from __future__ import annotations

import contextlib
import json
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import gymnasium as gym
import tyro

from ...agents.atomic import check_output, write_atomically
from ...envs import Question
from ...errors import InputError, unknown_name
from ..peer_process import PeerProcess
from . import peers
from .matches import GAMES, MATCHES, Match


@dataclass(frozen=True)
class EnvBenchOptions:
    only: tuple[str, ...] = ()
    """Lines to measure; all by default."""
    peer_python: tuple[Path, ...] = ()
    """Python interpreters of other environments that have a peer installed."""
    rounds: int = 5
    """Number of measurements of each side."""
    seconds: float = 1.0
    """Processor time of one measurement."""
    games: bool = True
    """Measure the steps per second of games, too."""
    json: Path | None = None
    """Write the figures here as JSON."""


@dataclass(frozen=True)
class Rates:
    """Medians of one side of one line, per second of processor time; ``made`` and ``checked`` have one value a
    round."""

    side: str
    made: list[float] = field(default_factory=list)
    checked: list[float] = field(default_factory=list)
    error: str = ""

    @property
    def both(self) -> list[float]:
        """Tasks that are made and judged twice, by a right and a wrong answer, or by two moves."""
        return [1.0 / (1.0 / made + 2.0 / checked) for made, checked in zip(self.made, self.checked)]

    def add(self, answer: dict[str, float]) -> None:
        self.made.append(answer["generated"] / max(answer["generating"], 1e-9))
        self.checked.append(answer["checked"] / max(answer["checking"], 1e-9))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    config = tyro.cli(EnvBenchOptions, args=argv, prog="palaestra bench envs", description=__doc__)
    check_output(config.json, "--json")
    known = {match.name: match for match in MATCHES}
    for name in config.only:
        if name not in known:
            raise unknown_name("line", name, known)
    for path in config.peer_python:
        if not path.is_file():
            raise InputError(f"--peer-python must be a Python interpreter, but {str(path)!r} is no file.")
    if config.rounds < 1 or config.seconds <= 0:
        raise InputError(f"--rounds and --seconds must be positive, not {config.rounds} and {config.seconds:g}.")
    with contextlib.ExitStack() as stack:
        helpers = [PeerProcess(path, peers.__file__) for path in config.peer_python or (Path(sys.executable),)]
        for helper in helpers:
            stack.callback(helper.close)
        matches = [known[name] for name in config.only] if config.only else list(MATCHES)
        rows = [(match, _sides(match, helpers, config)) for match in _progress(matches)]
        versions = {name: version for helper in reversed(helpers) for name, version in helper.versions.items()}
    games = {env_id: steps_per_second(env_id, config.seconds) for env_id in GAMES} if config.games else {}
    _print(rows, games, versions)
    if config.json is not None:
        lines = [{**asdict(match), "sides": [asdict(side) for side in sides]} for match, sides in rows]
        figures = {"versions": versions, "tasks": lines, "steps_per_second": games}
        write_atomically(config.json, json.dumps(figures, indent=2) + "\n")
    return 0


def _progress(matches: Sequence[Match]) -> Iterator[Match]:
    from rich.console import Console
    from rich.progress import track

    yield from track(matches, description="tasks", console=Console(stderr=True), transient=True)


def _sides(match: Match, helpers: Sequence[PeerProcess], config: EnvBenchOptions) -> list[Rates]:
    """Ours and each peer's rates; measured in turns, so that a busy machine slows all alike."""
    ours = Rates("palaestra")
    # If several Pythons have the same peer, the first one named counts.
    first = {peer: helper for helper in reversed(helpers) for peer in helper.versions}
    theirs = [(Rates(task.peer), first[task.peer], task) for task in match.peers if task.peer in first]
    for turn in range(config.rounds):
        ours.add(peers.measure_rates(make_source(match, turn), config.seconds))
        for position, (rates, helper, task) in enumerate(theirs):
            request = {"peer": task.peer, "name": task.name, "config": dict(task.config), "first": 10_000 * turn}
            answer = helper.ask(seconds=config.seconds, **request)
            if "error" in answer:
                theirs[position] = (Rates(task.peer, error=answer["error"]), helper, task)
            else:
                rates.add(answer)
    return [ours, *(rates for rates, *_ in theirs)]


def make_source(match: Match, turn: int) -> peers.TaskSource:
    """Our tasks of a line, by whole resets, and the check of the solver's answer and of a wrong one; of a game, one
    step from a task on."""
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
    """Steps of the solver's games through ``gymnasium.make``'s own wrappers, resets and the solver not counted."""
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


def _print(rows: Sequence[tuple[Match, list[Rates]]], games: dict[str, float], versions: dict[str, str]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    # Wide enough for all columns where the output is a file.
    console = Console(width=max(120, Console().width))
    others = ", ".join(f"{name} {version}" for name, version in versions.items()) or "no peer installed"
    grid = Table(box=box.SIMPLE_HEAD, title=f"Per second of processor time, against {others}", title_justify="left")
    for column in ("task", "side"):
        grid.add_column(column, no_wrap=True)
    for column in ("made", "ours / theirs", "checked", "ours / theirs", "both", "ours / theirs"):
        grid.add_column(column, justify="right", no_wrap=True)
    for match, (ours, *theirs) in rows:
        grid.add_row(match.name, ours.side, _rate(ours.made), "", _rate(ours.checked), "", _rate(ours.both), "")
        for side in theirs:
            if side.error:
                grid.add_row("", side.side, "failed", "", "", "", "", "")
                continue
            made, checked = _ratio(ours.made, side.made), _ratio(ours.checked, side.checked)
            both = _ratio(ours.both, side.both)
            grid.add_row("", side.side, _rate(side.made), made, _rate(side.checked), checked, _rate(side.both), both)
    console.print(grid)
    for match, sides in rows:
        promises = {"palaestra": match.promise, **{task.peer: task.promise for task in match.peers}}
        guarantees = "; ".join(f"{side.side}: {promises.get(side.side, '')}" for side in sides)
        console.print(f"{match.name} guarantees {guarantees}", highlight=False)
        for side in sides:
            if side.error:
                console.print(f"{match.name} failed under {side.side}: {side.error}", highlight=False)
    for env_id, rate in games.items():
        console.print(f"{env_id}: {rate:,.0f} steps/s", highlight=False)


def _rate(values: Sequence[float]) -> str:
    middle = statistics.median(values)
    return f"{middle:,.0f}" if middle >= 100 else f"{middle:.3g}"


def _ratio(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """The median over the rounds."""
    return f"{statistics.median(a / b for a, b in zip(ours, theirs)):.3g}"
