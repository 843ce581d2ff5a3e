"""``palaestra bench sandbox``: runs per second and latency of the sandboxes, a cold interpreter and peers.

Three measurements of a program of one line, ``print(6 * 7)``, or of one that defines a function:

  alone    one run after another, this process and all that it starts on one core
  calls    the same, and each run calls six functions, as where tasks are judged
  clients  many programs waiting at a time, all cores, through the pool

All sides take turns, in reversed order every other round; times are wall time. A container engine and its containers
are not children of this process, and are not pinned to its core. Warm-up runs are not counted. Every result is checked,
and a side with a wrong result has no rate.

examples:
  palaestra bench sandbox
  palaestra bench sandbox --backends local --rounds 9 --json sandbox.json
  palaestra bench sandbox --peer-python /path/to/venv/bin/python
  DOCKER_HOST=unix:///run/docker.sock palaestra bench sandbox --backends docker --clients 8
"""

from __future__ import annotations

import contextlib
import functools
import os
import queue
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ...envs.sandbox import BACKENDS, Limits, Pool, Result, Sandbox
from ...errors import InputError, MissingExtra
from ..harness import Side, check_names, compare, make_table, progress, read_options, wide_console, write_json
from ..peer_process import open_peers
from . import peers
from .sides import CALLS, COLD, CONTAINMENT, LINE, ColdPython, PeerSandbox, Work, WrongAnswer

LIMITS = Limits(seconds=10)
WARM = 3
"""Number of warm-up runs, which are not counted."""
T = TypeVar("T", Sandbox, Pool)


@dataclass(frozen=True)
class SandboxBenchOptions:
    backends: tuple[str, ...] = ("local", "docker")
    """Our backends to measure; a backend that this machine lacks is reported as missing."""
    peer_python: tuple[Path, ...] = ()
    """Python interpreters of virtual environments that have a peer installed."""
    rounds: int = 5
    """Number of measurements of each side."""
    seconds: float = 1.0
    """Seconds of one measurement."""
    clients: int = 64
    """Number of programs that wait at a time in the measurement "clients"."""
    json: Path | None = None
    """Write the figures here as JSON."""


@dataclass(frozen=True)
class SandboxRound:
    """Runs per second of one round, and the seconds of every run, including the wait for its turn."""

    rate: float
    times: list[float]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code, 1 if one of our sides gave a wrong result."""
    config = read_options(SandboxBenchOptions, "sandbox", argv, __doc__)
    check_names("sandbox backend", config.backends, BACKENDS)
    if not config.backends:
        raise InputError(f"--backends needs at least one of {', '.join(BACKENDS)}.")
    if config.rounds < 1 or config.seconds <= 0 or config.clients < 1:
        asked = f"{config.rounds}, {config.seconds:g} and {config.clients}"
        raise InputError(f"--rounds, --seconds and --clients must be positive, not {asked}.")
    cores, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    # Two cold interpreters, one of them measured twice; installed peers are not known yet and add more turns.
    turns = config.rounds * (3 * len(config.backends) + 3)
    with contextlib.ExitStack() as stack:
        with one_core() as core:
            first = stack.enter_context(open_peers(config.peer_python, peers.__file__))
            advance = stack.enter_context(progress(turns, "runs"))
            ours: dict[str, Callable[[], Sandbox]] = {name: BACKENDS[name] for name in config.backends}
            cold: dict[str, Callable[[], Sandbox]] = {COLD: ColdPython}
            least = {"python -I -S -c": functools.partial(ColdPython, "-I", "-S")}
            theirs = {side: functools.partial(PeerSandbox, helper, side) for side, helper in first.items()}
            versions = {side: helper.versions[side] for side, helper in first.items()}
            one_line = functools.partial(one_after_another, LINE)
            alone = take_rounds({**ours, **cold, **least, **theirs}, one_line, config, advance)
            if all(side.failure and not isinstance(side.failure, WrongAnswer) for side in alone[: len(ours)]):
                raise InputError(f"no backend that is asked for can be measured here: {alone[0].failure}")
            calls = take_rounds(ours, functools.partial(one_after_another, CALLS), config, advance)
        pools = {name: functools.partial(Pool, make) for name, make in {**ours, **cold}.items()}
        waiting = functools.partial(many_at_a_time, LINE, config.clients)
        clients = take_rounds(pools, waiting, config, advance)
    measured = {"alone": alone, "calls": calls, "clients": clients}
    found = {name: summarise(sides) for name, sides in measured.items()}
    _print(found, config, core, cores, load, versions)
    machine = {"cores": cores, "core": core, "load": load, "python": sys.version.split()[0]}
    write_json(config.json, {"machine": machine, "versions": versions, "waiting": config.clients, **found})
    wrong = (side.name for side in (*alone, *calls, *clients) if isinstance(side.failure, WrongAnswer))
    return int(any(name not in theirs for name in wrong))


def summarise(sides: Sequence[Side[SandboxRound]]) -> list[dict[str, Any]]:
    """Return a row per side: rates and their ratios to a cold interpreter (lower quartile, median, upper quartile) and
    percentiles of the times of runs, or the error."""
    cold = next((side.rounds for side in sides if side.name == COLD and side.failure is None), None)
    rows = []
    for side in sides:
        if side.failure is not None:
            rows.append({"side": side.name, "error": str(side.failure)})
            continue
        rates, times = [one.rate for one in side.rounds], [took for one in side.rounds for took in one.times]
        percentiles = (1e3 * np.percentile(times, (50, 99, 100))).tolist()
        rows.append(
            {
                "side": side.name,
                "runs": len(times),
                "runs_per_second": _quartiles(rates),
                **dict(zip(("p50_ms", "p99_ms", "longest_ms"), percentiles)),
                "ratio_to_cold": _quartiles([a / b.rate for a, b in zip(rates, cold)]) if cold else None,
            }
        )
    return rows


def _quartiles(values: Sequence[float]) -> list[float]:
    return np.percentile(values, (25, 50, 75)).tolist()


@contextlib.contextmanager
def one_core() -> Iterator[int]:
    """Pin this thread and its later child processes to one core; yield the number of the core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield max(before)
    finally:
        os.sched_setaffinity(0, before)


def one_after_another(
    work: Work, sandbox: Sandbox, seconds: float, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Run jobs for about ``seconds``, at least one, and return the seconds of each run.

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


def many_at_a_time(work: Work, clients: int, pool: Pool, seconds: float) -> list[float]:
    """Keep ``clients`` jobs waiting in the pool for about ``seconds``. Return the seconds from request to result of
    each.

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


def take_rounds(
    sides: Mapping[str, Callable[[], T]],
    run: Callable[[T, float], list[float]],
    config: SandboxBenchOptions,
    advance: Callable[[object], object] = lambda side: None,
) -> list[Side[SandboxRound]]:
    """Measure all sides; a side that is missing on this machine or gives a wrong result has no rounds.

    Args:
        sides: name of each side -> function that opens its sandbox or pool.
        run: called with the sandbox or pool and a number of seconds; returns the seconds of each run.
    """
    with contextlib.ExitStack() as stack:

        @functools.cache
        def open_side(name: str) -> T:
            made = sides[name]()
            stack.callback(made.close)
            return made

        def warm_up(name: str) -> None:
            for _ in range(WARM):
                run(open_side(name), 0.0)

        def take(name: str, number: int) -> SandboxRound:
            begun = time.perf_counter()
            times = run(open_side(name), config.seconds)
            return SandboxRound(len(times) / (time.perf_counter() - begun), times)

        found = [Side(name, functools.partial(take, name), functools.partial(warm_up, name)) for name in sides]
        failures = (InputError, MissingExtra, WrongAnswer)
        compare(found, config.rounds, failures=failures, watch=lambda side, _: advance(side))
    return found


def _print(
    found: Mapping[str, list[dict[str, Any]]],
    config: SandboxBenchOptions,
    core: int,
    cores: int,
    load: float,
    versions: Mapping[str, str],
) -> None:
    console = wide_console()
    titles = {
        "alone": f"print(6 * 7), one run after another, on core {core}",
        "calls": f"A program of which 6 functions are called, one run after another, on core {core}",
        "clients": f"print(6 * 7), {config.clients} waiting at a time, on {cores} cores",
    }
    console.print(
        f"Medians of {config.rounds} rounds, and their quartiles; the machine's load at the start was {load:.1f}."
    )
    head = ("side", "runs/s", "quartiles", "p50 ms", "p99 ms", "longest ms", f"/ {COLD}", "quartiles")
    for name, rows in found.items():
        cells = []
        for row in rows:
            if "error" in row:
                cells.append((row["side"], "none"))
                continue
            times = (f"{row[kind]:.3g}" for kind in ("p50_ms", "p99_ms", "longest_ms"))
            ratios = _spread(row["ratio_to_cold"], ".3g") if row["ratio_to_cold"] else ("", "")
            cells.append((row["side"], *_spread(row["runs_per_second"], ".4g"), *times, *ratios))
        console.print(make_table(head, cells, text=1, title=titles[name], plain=True))
    said = []
    for row in found["alone"]:
        side = row["side"]
        version = f" ({versions[side]})" if side in versions else ""
        said.append(f"{side}{version} keeps programs in by: {CONTAINMENT.get(side, '')}")
    # A missing side is missing in every measurement, so report each error once.
    errors = (f"{row['side']}: {row['error']}" for rows in found.values() for row in rows if "error" in row)
    for sentence in dict.fromkeys((*said, *errors)):
        console.print(sentence, highlight=False, markup=False)


def _spread(quartiles: Sequence[float], form: str) -> tuple[str, str]:
    low, middle, high = (format(value, form) for value in quartiles)
    return middle, f"{low} to {high}"
