"""``palaestra bench sandbox``: runs per second and latency of the sandboxes, against a cold interpreter and peers.

Three measurements of a program of one line, ``print(6 * 7)``, or of one that defines a function:

  alone    one run after another, this process and all that it starts on one core
  calls    the same, and each run calls six functions, as where tasks are judged
  clients  many programs waiting at a time, all cores, through the pool

All sides take turns, in reversed order every other round, by the clock on the wall. A container engine and its
containers are not children of this process, and are not kept to its core. Warming up is not counted; every answer is
checked, and a side that gives a wrong one has no rate.

examples:
  palaestra bench sandbox
  palaestra bench sandbox --backends local --rounds 9 --json sandbox.json
  palaestra bench sandbox --peer-python /path/to/venv/bin/python
  DOCKER_HOST=unix:///run/docker.sock palaestra bench sandbox --backends docker --clients 8
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import queue
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tyro

from ...agents.atomic import check_output, write_atomically
from ...envs.sandbox import BACKENDS, Limits, Pool, Result, Sandbox
from ...errors import InputError, MissingExtra, unknown_name
from ..peer_process import PeerProcess
from . import peers
from .sides import CALLS, COLD, CONTAINMENT, LINE, ColdPython, PeerSandbox, Work, WrongAnswer

LIMITS = Limits(seconds=10)
# Runs before any that counts.
_WARM = 3


@dataclass(frozen=True)
class SandboxBenchOptions:
    backends: tuple[str, ...] = ("local", "docker")
    """Backends of ours; one that this machine lacks is said to be missing."""
    peer_python: tuple[Path, ...] = ()
    """Python interpreters of other environments that have a peer installed."""
    rounds: int = 5
    """Number of measurements of each side."""
    seconds: float = 1.0
    """Time of one measurement."""
    clients: int = 64
    """Programs that wait at a time in the last measurement."""
    json: Path | None = None
    """Write the figures here as JSON."""


@dataclass
class SideFigures:
    """One side of one measurement.

    Args:
        rates: runs per second of each round.
        times: seconds of every run, including the wait for its turn.
        error: reason of a missing rate.
        wrong: True if the error is a wrong answer; False if this machine lacks the side.
    """

    side: str
    rates: list[float] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    error: str = ""
    wrong: bool = False

    def add(self, times: Sequence[float], seconds: float) -> None:
        self.rates.append(len(times) / seconds)
        self.times += times

    def fail(self, error: str, wrong: bool) -> None:
        self.error, self.wrong = error, wrong
        self.rates.clear()
        self.times.clear()

    def figures(self, cold: SideFigures | None) -> dict[str, Any]:
        if self.error:
            return {"side": self.side, "error": self.error}
        percentiles = (1e3 * np.percentile(self.times, (50, 99, 100))).tolist()
        return {
            "side": self.side,
            "runs": len(self.times),
            "runs_per_second": _quartiles(self.rates),
            **dict(zip(("p50_ms", "p99_ms", "longest_ms"), percentiles)),
            "ratio_to_cold": _quartiles([a / b for a, b in zip(self.rates, cold.rates)]) if cold else None,
        }


def _quartiles(values: Sequence[float]) -> list[float]:
    """The lower quartile over the rounds, the median and the upper one."""
    return np.percentile(values, (25, 50, 75)).tolist()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; the exit code, which is 1 where a backend answered wrongly."""
    config = tyro.cli(SandboxBenchOptions, args=argv, prog="palaestra bench sandbox", description=__doc__)
    check_output(config.json, "--json")
    for name in config.backends:
        if name not in BACKENDS:
            raise unknown_name("sandbox backend", name, BACKENDS)
    for path in config.peer_python:
        if not path.is_file():
            raise InputError(f"--peer-python must be a Python interpreter, but {str(path)!r} is no file.")
    if not config.backends:
        raise InputError(f"--backends needs at least one of {', '.join(BACKENDS)}.")
    if config.rounds < 1 or config.seconds <= 0 or config.clients < 1:
        asked = f"{config.rounds}, {config.seconds:g} and {config.clients}"
        raise InputError(f"--rounds, --seconds and --clients must be positive, not {asked}.")
    cores, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    with contextlib.ExitStack() as stack:
        with one_core() as core:
            helpers = []
            for path in config.peer_python:
                helpers.append(PeerProcess(path, peers.__file__))
                stack.callback(helpers[-1].close)
            advance = stack.enter_context(_progress(config))
            ours: dict[str, Callable[[], Sandbox]] = {name: BACKENDS[name] for name in config.backends}
            cold: dict[str, Callable[[], Sandbox]] = {COLD: ColdPython}
            least = {"python -I -S -c": functools.partial(ColdPython, "-I", "-S")}
            # If several Pythons have the same peer, the first one named counts.
            first = {side: helper for helper in reversed(helpers) for side in helper.versions}
            theirs = {side: functools.partial(PeerSandbox, helper, side) for side, helper in first.items()}
            versions = {side: helper.versions[side] for side, helper in first.items()}
            alone = measure_alone(LINE, {**ours, **cold, **least, **theirs}, config, advance)
            if all(side.error and not side.wrong for side in alone[: len(ours)]):
                raise InputError(f"no backend that is asked for can be measured here: {alone[0].error}")
            calls = measure_alone(CALLS, ours, config, advance)
        clients = measure_clients({**ours, **cold}, config, advance)
    found = {"alone": _figures(alone), "calls": _figures(calls), "clients": _figures(clients)}
    _print(found, config, core, cores, load, versions)
    if config.json is not None:
        machine = {"cores": cores, "core": core, "load": load, "python": sys.version.split()[0]}
        figures = {"machine": machine, "versions": versions, "waiting": config.clients, **found}
        write_atomically(config.json, json.dumps(figures, indent=2) + "\n")
    return int(any(one.wrong and one.side not in theirs for one in (*alone, *calls, *clients)))


@contextlib.contextmanager
def one_core() -> Iterator[int]:
    """Pin this thread and its later children to one core; yield the number of the core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield max(before)
    finally:
        os.sched_setaffinity(0, before)


def measure_alone(
    work: Work, sides: dict[str, Callable[[], Sandbox]], config: SandboxBenchOptions, advance: Callable[[], None]
) -> list[SideFigures]:
    """Run after run, each side in turn."""
    with contextlib.ExitStack() as stack:
        made: dict[str, Sandbox] = {}

        def measure(side: str, seconds: float) -> list[float]:
            if side not in made:
                made[side] = sides[side]()
                stack.callback(made[side].close)
            return one_after_another(made[side], work, seconds)

        return _in_turns(list(sides), measure, config, advance)


def one_after_another(
    sandbox: Sandbox, work: Work, seconds: float, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Run for about ``seconds``, at least once, and return the seconds of each run.

    Raises:
        WrongAnswer: a run gave a wrong result.
    """
    times: list[float] = []
    end = clock() + seconds
    while True:
        begun = clock()
        result = sandbox.run(work.job, LIMITS)
        now = clock()
        work.check(result)
        times.append(now - begun)
        if now >= end:
            return times


def measure_clients(
    sides: dict[str, Callable[[], Sandbox]], config: SandboxBenchOptions, advance: Callable[[], None]
) -> list[SideFigures]:
    """Through a pool with a sandbox for each core, each side in turn."""
    with contextlib.ExitStack() as stack:
        pools: dict[str, Pool] = {}

        def measure(side: str, seconds: float) -> list[float]:
            if side not in pools:
                pools[side] = Pool(sides[side])
                stack.callback(pools[side].close)
            return many_at_a_time(pools[side], LINE, config.clients, seconds)

        return _in_turns(list(sides), measure, config, advance)


def many_at_a_time(pool: Pool, work: Work, clients: int, seconds: float) -> list[float]:
    """Let ``clients`` clients ask, each again as soon as it has its answer, and return the seconds to each answer.

    Raises:
        WrongAnswer: a run gave a wrong result.
    """
    answered: queue.SimpleQueue[tuple[float, Future[Result]]] = queue.SimpleQueue()

    def ask() -> None:
        begun = time.perf_counter()
        pool.submit(work.job, LIMITS).add_done_callback(
            lambda answer: answered.put((time.perf_counter() - begun, answer))
        )

    times: list[float] = []
    failures: list[Exception] = []
    end = time.perf_counter() + seconds
    for _ in range(clients):
        ask()
    waiting = clients
    while waiting:
        took, answer = answered.get()
        times.append(took)
        try:
            work.check(answer.result())
        except Exception as error:
            failures.append(error)
        if not failures and time.perf_counter() < end:
            ask()
        else:
            waiting -= 1
    if failures:
        raise failures[0]
    return times


def _in_turns(
    sides: Sequence[str],
    measure: Callable[[str, float], list[float]],
    config: SandboxBenchOptions,
    advance: Callable[[], None],
) -> list[SideFigures]:
    found = {side: SideFigures(side) for side in sides}
    for turn in range(config.rounds):
        for side in reversed(sides) if turn % 2 else sides:
            one = found[side]
            if not one.error:
                try:
                    if not one.rates:
                        for _ in range(_WARM):
                            measure(side, 0.0)
                    begun = time.perf_counter()
                    times = measure(side, config.seconds)
                    one.add(times, time.perf_counter() - begun)
                except (InputError, MissingExtra) as error:
                    one.fail(str(error), wrong=False)
                except WrongAnswer as error:
                    one.fail(str(error), wrong=True)
            advance()
    return [*found.values()]


@contextlib.contextmanager
def _progress(config: SandboxBenchOptions) -> Iterator[Callable[[], None]]:
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True, refresh_per_second=2) as progress:
        # Two cold interpreters, one of them twice; the peers that there are turn up later.
        task = progress.add_task("runs", total=config.rounds * (3 * len(config.backends) + 3))
        yield lambda: progress.advance(task)


def _figures(measured: Sequence[SideFigures]) -> list[dict[str, Any]]:
    cold = next((one for one in measured if one.side == COLD and not one.error), None)
    return [one.figures(cold) for one in measured]


def _print(
    found: dict[str, list[dict[str, Any]]],
    config: SandboxBenchOptions,
    core: int,
    cores: int,
    load: float,
    versions: dict[str, str],
) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    # Wide enough for all columns where the output is a file.
    console = Console(width=max(120, Console().width))
    titles = {
        "alone": f"print(6 * 7), one run after another, on core {core}",
        "calls": f"A program of which 6 functions are called, one run after another, on core {core}",
        "clients": f"print(6 * 7), {config.clients} waiting at a time, on {cores} cores",
    }
    console.print(
        f"Medians of {config.rounds} rounds, and their quartiles; the machine's load at the begin was {load:.1f}."
    )
    for name, rows in found.items():
        table = Table(box=box.SIMPLE_HEAD, title=titles[name], title_justify="left")
        table.add_column("side", no_wrap=True)
        for column in ("runs/s", "quartiles", "p50 ms", "p99 ms", "longest ms", f"/ {COLD}", "quartiles"):
            table.add_column(column, justify="right", no_wrap=True)
        for row in rows:
            if "error" in row:
                table.add_row(row["side"], "none")
                continue
            times = (f"{row[kind]:.3g}" for kind in ("p50_ms", "p99_ms", "longest_ms"))
            ratios = _spread(row["ratio_to_cold"], ".3g") if row["ratio_to_cold"] else ("", "")
            table.add_row(row["side"], *_spread(row["runs_per_second"], ".4g"), *times, *ratios)
        console.print(table)
    for row in found["alone"]:
        side = row["side"]
        version = f" ({versions[side]})" if side in versions else ""
        console.print(
            f"{side}{version} keeps programs in by: {CONTAINMENT.get(side, '')}", highlight=False, markup=False
        )
    # A missing side is missing in every measurement, so report each error once.
    for said in dict.fromkeys(
        f"{row['side']}: {row['error']}" for rows in found.values() for row in rows if "error" in row
    ):
        console.print(said, highlight=False, markup=False)


def _spread(quartiles: Sequence[float], form: str) -> tuple[str, str]:
    low, middle, high = (format(value, form) for value in quartiles)
    return middle, f"{low} to {high}"
